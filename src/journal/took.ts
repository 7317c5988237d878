import type { RunEvent } from "./events.ts";
import type { RunState } from "./state.ts";

/** How long a run was at work, for everyone who tells it: rests, and the time in which nobody drove it, do not count. */
export interface TimeTaken {
  /** Of stretches that are over, milliseconds. */
  ms: number;
  /** When the present stretch began, epoch milliseconds; null while it rests. */
  since: number | null;
  /** Of the last event, epoch milliseconds. */
  lastAt: number;
}

/** Counts the time up to an event. */
export function countTime(took: TimeTaken, type: RunEvent["type"], at: number): void {
  switch (type) {
    case "run.started":
    case "run.resumed":
    case "run.reopened":
      took.since ??= at;
      break;
    case "run.paused":
    case "run.finished":
      stop(took, at);
      took.since = null;
      break;
    case "lease.taken":
      // Whoever drove it before did so up to its last event.
      if (took.since === null) break;
      stop(took, took.lastAt);
      took.since = at;
      break;
    default:
  }
  took.lastAt = at;
}

function stop(took: TimeTaken, at: number): void {
  if (took.since !== null) took.ms += Math.max(0, at - took.since);
}

/** How long a run took up to its last event, milliseconds. */
export function tookMs({ took: { ms, since, lastAt } }: Pick<RunState, "took">): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}
