/** What is known about a job when its next poll is scheduled. Times are epoch milliseconds on this machine's clock. */
export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done; null if unknown. */
  readonly expectedAt: number | null;
  /** Progress from 0 to 1; null if unknown. */
  readonly progress: number | null;
  readonly queued: boolean;
  /** What the previous poll read; null if this is the first poll. */
  readonly last: "job" | "status" | null;
}

/** The next poll. A read of the `job` can end the follow; a read of the `status` brings a new estimate. */
export interface NextPoll {
  readonly delayMs: number;
  readonly at: "job" | "status";
}

const minDelayMs = 1_000;
const maxDelayMs = 60_000;
/** Added to the estimated end, because a poll exactly at that time would usually be slightly too early. */
const marginMs = 500;
const firstDelayMs = 3_000;
/**
 * Delays between later polls, as a share of the time since the job started: a large share while the job is queued, half
 * while it runs without an estimate, and a tenth after the estimated end, when it should end soon.
 */
const [queuedShare, blindShare, overdueShare] = [1.5, 0.5, 0.1];
/** Minimum delay before an estimated end that keeps moving, as a share of the time since the job started. */
const movingShare = 0.02;

/**
 * Schedules the next poll. The job is first polled right after its expected end. Later polls read the job and its
 * status alternately, at growing intervals. If no end is expected, only the status is polled, at intervals that grow
 * faster.
 */
export function nextPoll(view: PollView): NextPoll {
  const spentMs = view.now - view.startedAt;
  const grown = (share: number) => Math.min(maxDelayMs, Math.max(minDelayMs, spentMs * share));
  const expectedAt = view.expectedAt ?? extrapolate(view);
  if (expectedAt === null) {
    if (view.last === null) return { delayMs: firstDelayMs, at: "status" };
    return { delayMs: grown(view.queued ? queuedShare : blindShare), at: "status" };
  }
  if (expectedAt - view.now > minDelayMs)
    return { delayMs: Math.max(grown(movingShare), expectedAt - view.now + marginMs), at: "job" };
  const at = view.last === "status" && !view.queued ? "job" : "status";
  return { delayMs: grown(overdueShare), at };
}

/** Estimates the end from the progress. A limit keeps stalled progress from delaying the next poll for long. */
function extrapolate(view: PollView): number | null {
  if (view.progress === null || view.progress <= 0.02 || view.progress >= 1) return null;
  const spentMs = view.now - view.startedAt;
  return view.now + Math.min((spentMs * (1 - view.progress)) / view.progress, spentMs * 2);
}

export interface SilenceView {
  readonly now: number;
  readonly startedAt: number;
  readonly expectedAt: number | null;
  /** The job is polled after at most this many milliseconds without an update. */
  readonly longestMs: number;
}

/** The wait for an update after the expected end: a share of the expected duration, within bounds. */
const [marginShare, leastMarginMs, mostMarginMs] = [0.25, 1_000, 30_000];
/** Delays of later polls, as a share of the time since the job started, and their minimums in milliseconds. */
const [silentShare, leastOverdueMs, leastBlindMs] = [0.5, 2_000, 15_000];

/** Returns how many milliseconds to wait for an update from a stream or webhook before the job is polled. */
export function silenceMs({ now, startedAt, expectedAt, longestMs }: SilenceView): number {
  if (expectedAt !== null && expectedAt > now) {
    const margin = Math.max(leastMarginMs, (expectedAt - startedAt) * marginShare);
    return Math.min(longestMs, expectedAt - now + Math.min(mostMarginMs, margin));
  }
  const least = expectedAt === null ? leastBlindMs : leastOverdueMs;
  return Math.min(longestMs, Math.max(least, (now - startedAt) * silentShare));
}
