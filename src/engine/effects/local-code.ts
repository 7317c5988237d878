import type { LocalFunction } from "../../define/local-function.ts";
import type { JournalError } from "../../journal/events.ts";
import type { EffectContext, EffectResult } from "./effect.ts";

const MAX_MESSAGE = 1000;

/** The function of a step, of the kind that it must be; null when the code of the run is not here, or has another. */
export function localCode<K extends LocalFunction["kind"]>(
  { state, functions }: EffectContext,
  step: string,
  kind: K,
): Extract<LocalFunction, { readonly kind: K }> | null {
  const found = functions.find(state, step);
  return found?.kind === kind ? (found as Extract<LocalFunction, { readonly kind: K }>) : null;
}

/** Nobody but whoever has the code can go on. */
export function withoutCode({ state, functions }: EffectContext, step: string): EffectResult {
  const { source } = state.planned;
  const file = source === null ? "pipeline.ts" : `${source.file}#${source.exportName}`;
  const why = functions.given
    ? `the pipeline that was given has no function for ${step}${functions.said === null ? "" : ` (${functions.said})`}`
    : `${step} is a function of the pipeline, and the code is not here`;
  const message = `${why}. Resume with the pipeline's file: showrunner resume ${state.runId} --file ${file}`;
  return { events: [{ type: "run.paused", reason: "code", message }], againInMs: Number.POSITIVE_INFINITY };
}

/** What the user's own code threw, in a form for the journal: its words, without a stack. */
export function thrownError(error: unknown, code: string): JournalError {
  const said = error instanceof Error ? error.message || error.name : String(error);
  const own = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : code;
  return { code: own.slice(0, 100), message: said.slice(0, MAX_MESSAGE), retryable: true };
}
