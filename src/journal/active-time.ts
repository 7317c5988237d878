import type { RunEvent } from "./events.ts";
import type { RunState } from "./state.ts";

/** How long a run was at work, for everyone who tells it: rests, and the time in which nobody drove it, do not count. */
export interface ActiveTime {
  /** Of stretches that are over, milliseconds. */
  ms: number;
  /** When the present stretch began, epoch milliseconds; null while it rests. */
  since: number | null;
  /** Of the last event, epoch milliseconds. */
  lastAt: number;
}

/** Counts the time up to an event. */
export function trackActiveTime(activeTime: ActiveTime, type: RunEvent["type"], at: number): void {
  switch (type) {
    case "run.started":
    case "run.resumed":
    case "run.reopened":
      activeTime.since ??= at;
      break;
    case "run.paused":
    case "run.finished":
      stop(activeTime, at);
      activeTime.since = null;
      break;
    case "lease.acquired":
      // Whoever drove it before did so up to its last event.
      if (activeTime.since === null) break;
      stop(activeTime, activeTime.lastAt);
      activeTime.since = at;
      break;
    default:
  }
  activeTime.lastAt = at;
}

function stop(activeTime: ActiveTime, at: number): void {
  if (activeTime.since !== null) activeTime.ms += Math.max(0, at - activeTime.since);
}

/** How long a run took up to its last event, milliseconds. */
export function activeMs({ activeTime: { ms, since, lastAt } }: Pick<RunState, "activeTime">): number {
  return ms + (since === null ? 0 : Math.max(0, lastAt - since));
}
