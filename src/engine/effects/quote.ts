import { ApiError } from "../../api/index.ts";
import type { Effect } from "./effect.ts";
import { isPassing, journalError, TROUBLE_WAIT_MS, throwAccountTrouble } from "./service-trouble.ts";

/** Asks what the job costs, now that everything it reads exists. */
export const quote: Effect<"quote"> = async (command, context) => {
  const { step, attempt, model } = command;
  try {
    const { handles, estimates, signal, priority } = context;
    const materialise = () => handles.materialise(command.input, { signal });
    const estimate = await estimates.ask(model, command.input, materialise, { signal, priority });
    const basis = estimate.costMicros === null ? "unquotable" : "quoted";
    return { events: [{ type: "job.quoted", step, attempt, costMicros: estimate.costMicros, basis }] };
  } catch (error) {
    throwAccountTrouble(error);
    if (isPassing(error)) return { events: [], againInMs: TROUBLE_WAIT_MS };
    if (!(error instanceof ApiError)) throw error;
    const { code, message } = journalError(error);
    const start = context.state.steps[step]?.status === "waiting" ? [{ type: "step.started", step } as const] : [];
    return { events: [...start, { type: "step.finished", step, status: "failed", reason: `${code}: ${message}` }] };
  }
};
