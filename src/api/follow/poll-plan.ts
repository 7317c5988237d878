/** What the next look at a job is decided from. Instants are epoch milliseconds of this machine's clock. */
export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  /** Looks so far. */
  readonly looks: number;
  /** When the service expects the job to finish, or null. */
  readonly expectedAt: number | null;
}

/** Shortest and longest distance between two looks. */
const minDelayMs = 1_000;
const maxDelayMs = 30_000;
/** An answer is a moment late: a look exactly at the estimate would mostly come too early. */
const marginMs = 300;

/** Milliseconds until the next look: at the estimate when there is one, else at a growing distance. */
export function nextPollMs(view: PollView): number {
  if (view.expectedAt !== null && view.expectedAt > view.now) return view.expectedAt - view.now + marginMs;
  const elapsedMs = view.now - view.startedAt;
  return Math.min(maxDelayMs, Math.max(minDelayMs, elapsedMs * 0.25));
}
