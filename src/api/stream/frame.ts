import type { EventSourceMessage } from "eventsource-parser";
import type { Redactor } from "../redactor.ts";
import { type JobStatusView, jobStatusView, type LogEvent, logEvent } from "../wire/job.ts";

/** One frame of a job's stream. `id` is what a later connection resumes after. */
export type StreamFrame =
  | { readonly type: "status"; readonly id: string | null; readonly status: JobStatusView }
  | { readonly type: "log"; readonly id: string | null; readonly log: LogEvent }
  | { readonly type: "done" };

/** Data of the last frame; it is no JSON. */
const doneToken = "[STREAM_DONE]";

/** Reads one event, or null for kinds that this version does not know and for data it cannot read. */
export function readFrame(message: EventSourceMessage, redactor: Redactor): StreamFrame | null {
  if (message.event === "done" || message.data === doneToken) return { type: "done" };
  const id = message.id === undefined ? null : redactor.text(message.id);
  const data = redactor.json(message.data);
  if (message.event === "log") {
    const log = logEvent.safeParse(data);
    return log.success ? { type: "log", id, log: log.data } : null;
  }
  if (message.event === "status") {
    const status = jobStatusView.safeParse(data);
    return status.success ? { type: "status", id, status: status.data } : null;
  }
  return null;
}
