export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  readonly expectedAt: number | null;
  readonly progress: number | null;
  readonly queued: boolean;
  readonly last: "job" | "status" | null;
}

/** When to poll next, and whether to read the full job or only its status. */
export interface NextPoll {
  readonly delayMs: number;
  readonly at: "job" | "status";
}

const minDelayMs = 1_000;
const maxDelayMs = 60_000;
/** Added to the estimated end, because jobs usually end slightly later. */
const marginMs = 500;
const firstDelayMs = 3_000;
/**
 * Delays between polls, as shares of the job's age: while it is queued, while its end is unknown, and after its
 * expected end.
 */
const [queuedShare, blindShare, overdueShare] = [1.5, 0.5, 0.1];
/** Minimum delay before the expected end, as a share of the job's age. */
const movingShare = 0.02;

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

function extrapolate(view: PollView): number | null {
  if (view.progress === null || view.progress <= 0.02 || view.progress >= 1) return null;
  const spentMs = view.now - view.startedAt;
  return view.now + Math.min((spentMs * (1 - view.progress)) / view.progress, spentMs * 2);
}

export interface SilenceView {
  readonly now: number;
  readonly startedAt: number;
  readonly expectedAt: number | null;
  readonly longestMs: number;
}

/** How long after its expected end a job is polled: a share of its expected duration, within limits. */
const [marginShare, leastMarginMs, mostMarginMs] = [0.25, 1_000, 30_000];
/** Delay if the expected end is unknown or has passed: a share of the job's age, with a minimum. */
const [silentShare, leastOverdueMs, leastBlindMs] = [0.5, 2_000, 15_000];

export function silenceMs({ now, startedAt, expectedAt, longestMs }: SilenceView): number {
  if (expectedAt !== null && expectedAt > now) {
    const margin = Math.max(leastMarginMs, (expectedAt - startedAt) * marginShare);
    return Math.min(longestMs, expectedAt - now + Math.min(mostMarginMs, margin));
  }
  const least = expectedAt === null ? leastBlindMs : leastOverdueMs;
  return Math.min(longestMs, Math.max(least, (now - startedAt) * silentShare));
}
