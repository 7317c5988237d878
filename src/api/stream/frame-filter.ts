import { isTerminal, statusRank } from "../job-status.ts";
import type { JobStatusView } from "../wire/job.ts";
import type { StreamFrame } from "./frame.ts";

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
