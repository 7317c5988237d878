import type { EventSourceMessage } from "eventsource-parser";
import { isTerminal, statusRank } from "../job-status.ts";
import type { Redactor } from "../redactor.ts";
import { type JobStatusView, jobStatusView, type LogEvent, logEvent } from "../wire/job.ts";

/** What was already handed on, so that a reconnection repeats nothing and a job never seems to move back. */
export interface FrameFilter {
  /** True when the frame says something new. */
  accepts(frame: StreamFrame): boolean;
  /** A terminal status was seen; the stream has nothing more to tell but done. */
  readonly terminal: boolean;
}

/** Each log event passes once, in whatever order it comes; a status passes when it is no step back and no repetition. */
export function createFrameFilter(): FrameFilter {
  const seenLogs = new Set<number>();
  let last: JobStatusView | null = null;
  return {
    get terminal() {
      return last !== null && isTerminal(last.status);
    },
    accepts(frame) {
      if (frame.type === "done") return true;
      if (frame.type === "log") {
        if (seenLogs.has(frame.log.id)) return false;
        seenLogs.add(frame.log.id);
        return true;
      }
      if (last !== null && (isStepBack(last, frame.status) || isRepetition(last, frame.status))) return false;
      last = frame.status;
      return true;
    },
  };
}

function isStepBack(last: JobStatusView, next: JobStatusView): boolean {
  const [before, after] = [statusRank(last.status), statusRank(next.status)];
  if (after !== before) return after < before;
  return after === 2 ? true : (next.progress ?? 0) < (last.progress ?? 0);
}

function isRepetition(last: JobStatusView, next: JobStatusView): boolean {
  return (
    last.status === next.status &&
    last.progress === next.progress &&
    last.estimatedCompletionAt === next.estimatedCompletionAt
  );
}

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
