import { ApiError } from "../../api/index.ts";
import type { Command } from "../../run/command.ts";
import type { Effect, EffectContext, EffectResult } from "./effect.ts";
import { expiredOutputs, isExpiry, readsUploads } from "./expired.ts";
import { isPassing, journalError, TROUBLE_WAIT_MS, throwAccountTrouble } from "./service-trouble.ts";

type Quote = Extract<Command, { readonly type: "quote" }>;

/** Asks what the job costs, now that everything it reads exists. */
export const quote: Effect<"quote"> = async (command, context) => {
  try {
    return await ask(command, context, false);
  } catch (error) {
    if (!isExpiry(error)) return failed(command, context, error);
    const gone = expiredOutputs(context.state, command.input, error);
    if (gone.length > 0) return { events: gone };
    if (!readsUploads(command.input)) return failed(command, context, error);
    return ask(command, context, true).catch((again: unknown) => failed(command, context, again));
  }
};

async function ask(command: Quote, context: EffectContext, renew: boolean): Promise<EffectResult> {
  const { step, attempt, model, input } = command;
  const { handles, estimates, signal, priority } = context;
  const materialise = () => handles.materialise(input, { signal, renew });
  const { costMicros } = await estimates.ask(model, input, materialise, { signal, priority });
  const basis = costMicros === null ? "unquotable" : "quoted";
  return { events: [{ type: "job.quoted", step, attempt, costMicros, basis }] };
}

function failed({ step }: Quote, { state }: EffectContext, error: unknown): EffectResult {
  throwAccountTrouble(error);
  if (isPassing(error)) return { events: [], againInMs: TROUBLE_WAIT_MS };
  if (!(error instanceof ApiError)) throw error;
  const { code, message } = journalError(error);
  const start = state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
  return { events: [...start, { type: "step.finished", step, status: "failed", reason: `${code}: ${message}` }] };
}
