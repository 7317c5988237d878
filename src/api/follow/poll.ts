import { sleep } from "../clock.ts";
import { classifyStatus, isTerminal } from "../job-status.ts";
import { readStatus } from "../jobs.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { nextLook, type PollView } from "./poll-plan.ts";
import { isEnd, look, untilSettled } from "./settle.ts";
import { type FollowContext, type FollowStrategy, firstExpectation, localInstant } from "./strategy.ts";
import { Tail } from "./tail.ts";

/** Share of a delay that chance may add. */
const spread = 0.05;

export async function* pollFrom(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  tail: Tail = new Tail(),
): AsyncGenerator<FollowEvent, void> {
  const startedAt = context.clock.now();
  let expectedAt = firstExpectation(context, jobId, options);
  let progress: number | null = null;
  let logsAfter = "start";
  let queued = false;
  let last: PollView["last"] = null;
  for (;;) {
    const next = nextLook({ now: context.clock.now(), startedAt, expectedAt, progress, queued, last });
    // Spread a little, so that jobs submitted together are not all looked at together.
    await sleep(context.clock, next.delayMs * (1 + context.random() * spread), options.signal);
    last = next.at;
    if (next.at === "job") {
      const events = await look(context, jobId, options, tail);
      yield* events;
      if (isEnd(events)) return;
      queued = false;
      continue;
    }
    const view = await readStatus(context, jobId, { signal: options.signal, priority: options.priority, logsAfter });
    logsAfter = view.logsNextCursor ?? logsAfter;
    if (isTerminal(view.status)) {
      yield* tail.logs(view.logs);
      return yield* untilSettled(context, jobId, options, tail);
    }
    yield* tail.status(view);
    progress = view.progress;
    queued = view.status === "IN_QUEUE";
    // Only the whole job can show that a status nobody knows is an end.
    const odd = classifyStatus(view.status) === "unrecognised";
    expectedAt = odd ? context.clock.now() : localInstant(context, view.estimatedCompletionAt);
  }
}

/** Looks at the job when it is likely to have news. */
export const pollStrategy: FollowStrategy = { name: "poll", follow: pollFrom };
