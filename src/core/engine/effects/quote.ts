import type { RunEvent } from "../../journal/events.ts";
import { referencesOf } from "../../plan/index.ts";
import type { Problem } from "../../plan/plan.ts";
import type { Command } from "../../run/command.ts";
import { resolvedSoFar } from "../../run/resolve.ts";
import { MediaLostError } from "../media/media-errors.ts";
import type { PlaceholderInput } from "../price/placeholder-input.ts";
import { isLapse, isRefusal, lapsedOutputs, readRefusal } from "../price/refusal.ts";
import { done, type EffectResult, type Judged, journalError, judge, retryOrPause } from "../service/service-answers.ts";
import { type Effect, type EffectContext, placed } from "./effect.ts";
import { ensureCopies, mediaLost } from "./ensure-copies.ts";

type Quote = Extract<Command, { readonly type: "quote" }>;

export const quote: Effect<"quote"> = async (command, context) => {
  try {
    const asked = await placeholdersOf(command, context);
    if (asked.problems.length > 0) return refused(command, context, problemsText(asked.problems));
    return await askTwice(command, asked, context);
  } catch (error) {
    if (error instanceof MediaLostError) return mediaLost(error);
    return failed(command, context, judge("estimate", error, command));
  }
};

type Asked = Pick<PlaceholderInput, "input" | "pending" | "problems" | "conditions">;

async function placeholdersOf({ step: path, model, input }: Quote, context: EffectContext): Promise<Asked> {
  if (referencesOf(input).length === 0) return { input, pending: [], problems: [], conditions: [] };
  const { state, expansions } = context;
  const { plan } = state.planned;
  return expansions.placeholders({ path, model, input }, { plan, resolved: (ref) => resolvedSoFar(state, ref) });
}

/** Requests a price. If expired upload handles may have caused a refusal, requests it once more with new handles. */
async function askTwice(command: Quote, asked: Asked, context: EffectContext): Promise<EffectResult> {
  try {
    return await ask(command, asked, context, false);
  } catch (error) {
    if (error instanceof MediaLostError) throw error;
    const { verdict } = judge("estimate", error, command);
    const missing = verdict === "media renewed" ? lapsedOutputs(context.state, asked.input, error) : [];
    if (missing.length > 0) return done(...missing);
    if (isLapse(error, asked)) {
      return ask(command, asked, context, true).catch((again: unknown) => ofPending(command, asked, context, again));
    }
    return ofPending(command, asked, context, error);
  }
}

async function ask(command: Quote, asked: Asked, context: EffectContext, renew: boolean): Promise<EffectResult> {
  const { model } = command;
  const { handles, estimates, signal } = context;
  const ensure = (sha256: string) => ensureCopies([sha256], context);
  const resolveUploads = () => handles.resolveUploads(asked.input, { signal, renew, ensure });
  const options = { signal, priority: placed(context) };
  const { costMicros } = await estimates.ask(model, asked.input, resolveUploads, options);
  return done(priced(command, asked, costMicros));
}

function priced({ step, attempt }: Quote, { pending, conditions }: Asked, costMicros: number | null): RunEvent {
  const steps = [...new Set(conditions.map((condition) => condition.step))];
  const conditional = steps.length > 0 && { conditionalOn: steps };
  const basis = pending.length > 0 ? "provisional" : costMicros === null ? "unquotable" : "quoted";
  return { type: "job.quoted", step, attempt, costMicros, basis, ...conditional };
}

/**
 * Handles a failed request for a price. If a placeholder may have caused a refusal, the price stays provisional until
 * the real value is known.
 */
function ofPending(command: Quote, asked: Asked, context: EffectContext, error: unknown): EffectResult {
  if (asked.pending.length > 0 && isRefusal(error)) {
    const { problems, conditions } = readRefusal({ path: command.step, model: command.model }, error, asked.pending);
    if (problems.length > 0) return refused(command, context, problemsText(problems));
    return done(priced(command, { ...asked, conditions: [...asked.conditions, ...conditions] }, null));
  }
  return failed(command, context, judge("estimate", error, command));
}

function problemsText(problems: readonly Problem[]): string {
  return problems.map(({ field, message }) => (field === null ? message : `${field}: ${message}`)).join("; ");
}

function failed(command: Quote, context: EffectContext, judged: Judged): EffectResult {
  if (judged.verdict !== "step failed" && judged.verdict !== "media renewed") return retryOrPause(judged, context);
  const { code, message } = journalError(judged.error);
  return refused(command, context, `${code}: ${message}`);
}

function refused({ step }: Quote, context: EffectContext, reason: string): EffectResult {
  const start = context.state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
  return done(...start, { type: "step.finished", step, status: "failed", reason });
}
