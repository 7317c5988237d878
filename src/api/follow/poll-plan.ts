/** What the next look at a job is decided from. Instants are epoch milliseconds of this machine's clock. */
export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done, or null when nobody knows. */
  readonly expectedAt: number | null;
  /** 0 to 1, or null. */
  readonly progress: number | null;
  /** Looks so far. */
  readonly looks: number;
}

/** `job` reads the whole job, which ends the follow if it is done; `status` is for a fresh estimate. */
export interface NextLook {
  readonly delayMs: number;
  readonly at: "job" | "status";
}

const minDelayMs = 1_000;
const maxDelayMs = 60_000;
/** A look exactly at the estimate would mostly come a moment too early. */
const marginMs = 500;
/** Waiting a fifth of the time already spent keeps a late look within a fifth of the job's own time. */
const lateShare = 0.2;

/**
 * When to look next. With an expectation in the future, right after it; past it, at a distance that grows with the
 * time spent; without one, soon for a first estimate and then by extrapolated progress or the same growing distance.
 */
export function nextLook(view: PollView): NextLook {
  const expectedAt = view.expectedAt ?? extrapolate(view);
  if (expectedAt !== null && expectedAt + marginMs > view.now) {
    return { delayMs: Math.max(minDelayMs, expectedAt - view.now + marginMs), at: "job" };
  }
  const spentMs = view.now - view.startedAt;
  return { delayMs: Math.min(maxDelayMs, Math.max(minDelayMs, spentMs * lateShare)), at: "status" };
}

/** By progress so far, but never so far off that a stalled number would make us look away for long. */
function extrapolate(view: PollView): number | null {
  if (view.progress === null || view.progress <= 0.02 || view.progress >= 1) return null;
  const spentMs = view.now - view.startedAt;
  return view.now + Math.min((spentMs * (1 - view.progress)) / view.progress, spentMs * 2);
}
