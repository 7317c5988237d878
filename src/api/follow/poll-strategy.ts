import { sleep } from "../clock.ts";
import { classifyStatus, isTerminal } from "../job-status.ts";
import { readStatus } from "../jobs.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { isEnd, pollJob, pollUntilFinished } from "./read-job.ts";
import { type FollowContext, type FollowStrategy, firstExpectation, localInstant } from "./strategy.ts";
import { UpdateDeduper } from "./update-deduper.ts";

/** What the next look at a job is decided from. Instants are epoch milliseconds of this machine's clock. */
export interface PollView {
  readonly now: number;
  readonly startedAt: number;
  /** When the job should be done, or null when unknown. */
  readonly expectedAt: number | null;
  /** 0 to 1, or null. */
  readonly progress: number | null;
  /** The job was still waiting for its turn when last seen. */
  readonly queued: boolean;
  /** What the look before was at, or null before the first. */
  readonly last: "job" | "status" | null;
}

/** `job` reads the whole job, which ends the follow if it is done; `status` is for a fresh estimate. */
export interface NextPoll {
  readonly delayMs: number;
  readonly at: "job" | "status";
}

const minDelayMs = 1_000;
const maxDelayMs = 60_000;
/** A look exactly at the estimate would mostly come a moment too early. */
const marginMs = 500;
/** The first look, when nothing is known at all. */
const firstDelayMs = 3_000;
/**
 * Later looks come after a share of the time already spent: a large one while the job waits for its turn, half of it
 * while it works without an estimate, a tenth when it is past its estimate and must end soon.
 */
const [queuedShare, blindShare, overdueShare] = [1.5, 0.5, 0.1];

/**
 * When to look next. With an expectation in the future, right after it. Past it, looks at the job and at its status
 * take turns at a distance that grows with the time spent: the one ends the follow, the other brings a new estimate.
 * Without one, the status is asked for an estimate at a distance that
 * grows faster.
 */
export function nextPoll(view: PollView): NextPoll {
  const spentMs = view.now - view.startedAt;
  const grown = (share: number) => Math.min(maxDelayMs, Math.max(minDelayMs, spentMs * share));
  const expectedAt = view.expectedAt ?? extrapolate(view);
  if (expectedAt === null) {
    if (view.last === null) return { delayMs: firstDelayMs, at: "status" };
    return { delayMs: grown(view.queued ? queuedShare : blindShare), at: "status" };
  }
  if (expectedAt - view.now > minDelayMs) return { delayMs: expectedAt - view.now + marginMs, at: "job" };
  const at = view.last === "status" && !view.queued ? "job" : "status";
  return { delayMs: grown(overdueShare), at };
}

/** Extrapolated from progress, with an upper limit so that a stalled number does not delay the next poll for long. */
function extrapolate(view: PollView): number | null {
  if (view.progress === null || view.progress <= 0.02 || view.progress >= 1) return null;
  const spentMs = view.now - view.startedAt;
  return view.now + Math.min((spentMs * (1 - view.progress)) / view.progress, spentMs * 2);
}

/** Share of a delay that chance may add. */
const spread = 0.05;

export async function* pollFrom(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  deduper: UpdateDeduper = new UpdateDeduper(),
): AsyncGenerator<FollowEvent, void> {
  const startedAt = context.clock.now();
  let expectedAt = firstExpectation(context, jobId, options);
  let progress: number | null = null;
  let logsAfter = "start";
  let queued = false;
  let last: PollView["last"] = null;
  for (;;) {
    const next = nextPoll({ now: context.clock.now(), startedAt, expectedAt, progress, queued, last });
    // Spread a little, so that jobs submitted together are not all looked at together.
    await sleep(context.clock, next.delayMs * (1 + context.random() * spread), options.signal);
    last = next.at;
    if (next.at === "job") {
      const events = await pollJob(context, jobId, options, deduper);
      yield* events;
      if (isEnd(events)) return;
      queued = false;
      continue;
    }
    const view = await readStatus(context, jobId, { signal: options.signal, priority: options.priority, logsAfter });
    logsAfter = view.logsNextCursor ?? logsAfter;
    if (isTerminal(view.status)) {
      yield* deduper.logs(view.logs);
      return yield* pollUntilFinished(context, jobId, options, deduper);
    }
    yield* deduper.status(view);
    progress = view.progress;
    queued = view.status === "IN_QUEUE";
    // Only the whole job can show that an unknown status is final.
    const odd = classifyStatus(view.status) === "unrecognised";
    expectedAt = odd ? context.clock.now() : localInstant(context, view.estimatedCompletionAt);
  }
}

/** Looks at the job when it is likely to have news. */
export const pollStrategy: FollowStrategy = { name: "poll", follow: pollFrom };
