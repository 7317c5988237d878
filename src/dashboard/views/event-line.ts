import type { RunEvent, StoredEvent } from "../../index.ts";
import { cut } from "./cut.ts";
import type { EventLine } from "./wire.ts";

type Told = { readonly [Type in RunEvent["type"]]?: (event: Extract<RunEvent, { readonly type: Type }>) => string };

const usd = (micros: number | null) =>
  micros === null ? "no price" : `$${(micros / 1e6).toFixed(4).replace(/0{1,2}$/, "")}`;

/** What there is to say beside the event's name. An event that is not here speaks for itself. */
const told: Told = {
  "run.planned": ({ plan }) => `${plan.steps.length} steps of ${plan.pipeline}`,
  "lease.taken": ({ holder, epoch }) => `by ${holder} (${epoch})`,
  "run.budget.set": ({ budgetMicros }) => (budgetMicros === null ? "no cap" : usd(budgetMicros)),
  "run.paused": ({ reason, message }) => `${reason}: ${message}`,
  "service.away": ({ reason, message }) => `${reason}: ${message}`,
  "run.finished": ({ status, message }) => (message === null ? status : `${status}: ${message}`),
  "run.account.moved": ({ keyId, baseUrl }) => `to key ${keyId} at ${baseUrl}`,
  "rerun.requested": ({ steps, requestId }) => `${steps.join(", ")} (${requestId})`,
  "run.replanned": ({ plan }) => `${plan.steps.length} steps, as the code says now`,
  "step.finished": ({ status, reason }) => (reason === null ? status : `${status}: ${reason}`),
  "step.reset": ({ why }) => why,
  "step.reused": ({ from }) => `from ${from.runId}, ${from.step}`,
  "upload.stored": ({ sizeBytes, contentType }) => `${contentType}, ${sizeBytes} bytes`,
  "job.quoted": ({ costMicros, basis }) => `${usd(costMicros)}, ${basis}`,
  "job.submit.intended": ({ model, attempt, holdMicros }) => `${model}, attempt ${attempt}, ${usd(holdMicros)} held`,
  "job.submit.unknown": ({ message }) => message,
  "job.submit.refused": ({ error }) => `${error.code}: ${error.message}`,
  "job.submit.withdrawn": ({ reason }) => reason,
  "job.unresolved": ({ message }) => message,
  "job.adopted": ({ jobId }) => jobId ?? "none",
  "job.submitted": ({ jobId, replayed }) => (replayed ? `${jobId}, known before` : jobId),
  "job.completed": ({ outputs }) => `${outputs.length} ${outputs.length === 1 ? "output" : "outputs"}`,
  "job.failed": ({ error }) => `${error.code}: ${error.message}`,
  "job.hold.raised": ({ holdMicros }) => `${usd(holdMicros)} held, as its model charges more than it quotes`,
  "price.learned": ({ model, runId }) => `${model} charged more than its quotes in run ${runId}`,
  "job.settled": ({ costMicros }) => usd(costMicros),
  "output.downloaded": ({ index, contentType, sizeBytes }) => `output ${index}, ${contentType}, ${sizeBytes} bytes`,
  "output.expired": ({ index }) => `output ${index}`,
  "chat.intended": ({ model, holdMicros }) => `${model}, ${usd(holdMicros)} held`,
  "chat.answered": ({ costMicros }) => usd(costMicros),
  "chat.failed": ({ error, costMicros }) => `${error.code}: ${error.message}, ${usd(costMicros)}`,
  "task.done": ({ files }) => (files.length === 0 ? "a value" : files.map(({ name }) => name).join(", ")),
  "task.failed": ({ error }) => `${error.code}: ${error.message}`,
  "approval.decided": ({ approved, pick, note }) =>
    [approved ? "approved" : "rejected", pick === null ? null : `take ${pick + 1}`, note].filter(Boolean).join(", "),
  "pick.made": ({ chosen }) => `${chosen.step}, output ${chosen.index}`,
  "expand.planned": ({ steps }) => `${steps.length} more steps`,
  "file.placed": ({ file }) => file,
};

/** One line of the event log. */
export function eventLine({ seq, at, event }: StoredEvent): EventLine {
  const tell = told[event.type] as ((event: RunEvent) => string) | undefined;
  return {
    seq,
    at,
    type: event.type,
    step: "step" in event ? event.step : null,
    text: cut(tell?.(event) ?? "", 300),
  };
}
