/** What the next poll of a job is decided from. Instants are epoch milliseconds of this machine's clock. */
export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done, or null when unknown. */
  readonly expectedAt: number | null;
  /** 0 to 1, or null. */
  readonly progress: number | null;
  /** The job was still waiting for its turn when last seen. */
  readonly queued: boolean;
  /** What the poll before read, or null before the first. */
  readonly last: "job" | "status" | null;
}

/** `job` reads the whole job, which ends the follow if it is done; `status` is for a fresh estimate. */
export interface NextPoll {
  readonly delayMs: number;
  readonly at: "job" | "status";
}

const minDelayMs = 1_000;
const maxDelayMs = 60_000;
/** A poll exactly at the estimate would mostly come a moment too early. */
const marginMs = 500;
/** The first poll, when nothing is known at all. */
const firstDelayMs = 3_000;
/**
 * Later polls come after a share of the time already spent: a large one while the job waits for its turn, half of it
 * while it works without an estimate, a tenth when it is past its estimate and must end soon.
 */
const [queuedShare, blindShare, overdueShare] = [1.5, 0.5, 0.1];
/** An estimate that moves on with every poll is taken at its word no sooner than after this share of the time spent. */
const movingShare = 0.02;

/**
 * When to poll next. With an expectation in the future, right after it. Past it, polls of the job and of its status
 * take turns at a distance that grows with the time spent: the one ends the follow, the other brings a new estimate.
 * Without one, the status is read for an estimate at a distance that grows faster.
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

/** Extrapolated from progress, with an upper limit so that a stalled number does not delay the next poll for long. */
function extrapolate(view: PollView): number | null {
  if (view.progress === null || view.progress <= 0.02 || view.progress >= 1) return null;
  const spentMs = view.now - view.startedAt;
  return view.now + Math.min((spentMs * (1 - view.progress)) / view.progress, spentMs * 2);
}

/** Facts about a job without updates. Instants are epoch milliseconds of this machine's clock. */
export interface SilenceView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done, or null when unknown. */
  readonly expectedAt: number | null;
  /** Milliseconds of silence after which the job is polled in any case. */
  readonly longestMs: number;
}

/** How long after its expected end a silent job is polled: a share of the time it was to take, within bounds. */
const [marginShare, leastMarginMs, mostMarginMs] = [0.25, 1_000, 30_000];
/** Later polls come after a share of the time already spent; without any expectation the first one brings an estimate. */
const [silentShare, leastOverdueMs, leastBlindMs] = [0.5, 2_000, 15_000];

/** How long a stream may be silent, or a webhook missing, before the job is polled. */
export function silenceMs({ now, startedAt, expectedAt, longestMs }: SilenceView): number {
  if (expectedAt !== null && expectedAt > now) {
    const margin = Math.max(leastMarginMs, (expectedAt - startedAt) * marginShare);
    return Math.min(longestMs, expectedAt - now + Math.min(mostMarginMs, margin));
  }
  const least = expectedAt === null ? leastBlindMs : leastOverdueMs;
  return Math.min(longestMs, Math.max(least, (now - startedAt) * silentShare));
}
