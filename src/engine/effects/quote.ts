import type { Command } from "../../run/command.ts";
import { expiredOutputs, readsUploads } from "../media/expired.ts";
import { MediaLostError } from "../media/media-errors.ts";
import { type Judged, journalError, judge } from "../service/service-answers.ts";
import { type Effect, type EffectContext, type EffectResult, placed } from "./effect.ts";
import { ensureCopies } from "./ensure-copies.ts";
import { retryOrPause } from "./retry-or-pause.ts";

type Quote = Extract<Command, { readonly type: "quote" }>;

/** Asks what the job costs, now that everything it reads exists. */
export const quote: Effect<"quote"> = async (command, context) => {
  try {
    return await ask(command, context, false);
  } catch (error) {
    if (error instanceof MediaLostError) return { events: [], failure: error };
    const judged = judge("estimate", error, command);
    if (judged.verdict !== "media renewed") return failed(command, context, judged);
    const missing = expiredOutputs(context.state, command.input, error);
    if (missing.length > 0) return { events: missing };
    if (!readsUploads(command.input)) return failed(command, context, judged);
    return ask(command, context, true).catch((again: unknown) =>
      failed(command, context, judge("estimate", again, command)),
    );
  }
};

async function ask(command: Quote, context: EffectContext, renew: boolean): Promise<EffectResult> {
  const { step, attempt, model, input } = command;
  const { handles, estimates, signal } = context;
  const ensure = (sha256: string) => ensureCopies([sha256], context);
  const resolveUploads = () => handles.resolveUploads(input, { signal, renew, ensure });
  const { costMicros } = await estimates.ask(model, input, resolveUploads, { signal, priority: placed(context) });
  const basis = costMicros === null ? "unquotable" : "quoted";
  return { events: [{ type: "job.quoted", step, attempt, costMicros, basis }] };
}

function failed({ step }: Quote, context: EffectContext, judged: Judged): EffectResult {
  if (judged.verdict !== "step failed" && judged.verdict !== "media renewed") return retryOrPause(judged, context);
  const { code, message } = journalError(judged.error);
  const start = context.state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
  return { events: [...start, { type: "step.finished", step, status: "failed", reason: `${code}: ${message}` }] };
}
