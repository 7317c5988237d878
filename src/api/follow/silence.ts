import { classifyStatus, isFinished, isTerminal } from "../job-status.ts";
import { readJob, readStatus } from "../jobs.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { type FollowContext, localInstant } from "./strategy.ts";
import type { UpdateDeduper } from "./update-deduper.ts";

/** Facts about a job without updates. Instants are epoch milliseconds of this machine's clock. */
export interface SilenceView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done, or null when unknown. */
  readonly expectedAt: number | null;
  /** Milliseconds of silence after which the job is polled in any case. */
  readonly longestMs: number;
}

/** How long after its expected end a silent job is looked at: a share of the time it was to take, within bounds. */
const [marginShare, leastMarginMs, mostMarginMs] = [0.25, 1_000, 30_000];
/** Later looks come after a share of the time already spent; without any expectation the first one brings an estimate. */
const [overdueShare, leastOverdueMs, leastBlindMs] = [0.5, 2_000, 15_000];

/** How long a stream may be silent, or a webhook missing, before the job is polled. */
export function silenceMs({ now, startedAt, expectedAt, longestMs }: SilenceView): number {
  if (expectedAt !== null && expectedAt > now) {
    const margin = Math.max(leastMarginMs, (expectedAt - startedAt) * marginShare);
    return Math.min(longestMs, expectedAt - now + Math.min(mostMarginMs, margin));
  }
  const least = expectedAt === null ? leastBlindMs : leastOverdueMs;
  return Math.min(longestMs, Math.max(least, (now - startedAt) * overdueShare));
}

interface Look {
  /** The job reads as over, or will soon. */
  readonly isOver: boolean;
  readonly events: readonly FollowEvent[];
  readonly expectedAt: number | null;
}

/** Looks whether a silent job ended unheard, and when it is expected now. */
export async function pollInSilence(
  context: FollowContext,
  jobId: string,
  { signal, priority }: FollowOptions,
  deduper: UpdateDeduper,
): Promise<Look> {
  const view = await readStatus(context, jobId, { signal, priority });
  const expectedAt = localInstant(context, view.estimatedCompletionAt);
  if (isTerminal(view.status)) return { isOver: true, events: [], expectedAt };
  // Only the whole job can show that an unknown status is final.
  const isOdd = classifyStatus(view.status) === "unrecognised";
  const isOver = isOdd && isFinished(await readJob(context, jobId, { signal, priority }));
  return { isOver, events: isOver ? [] : deduper.status(view), expectedAt };
}
