import type { Clock } from "../clock.ts";
import type { Hints } from "./hints.ts";
import { isEnd, pollJob, pollUntilFinished } from "./read-job.ts";
import { pollInSilence, silenceMs } from "./silence.ts";
import { type FollowStrategy, firstExpectation } from "./strategy.ts";
import { UpdateDeduper } from "./update-deduper.ts";

/** Most milliseconds without a webhook before the job is looked at. */
const longestMs = 600_000;
/** A webhook can be faster than the read it announces: looks that soon follow it. */
const lagMs = 1_000;

/** Waits for the webhook that a receiver hands to the client, with a timer behind it; one read of the job ends it. */
export const webhookStrategy: FollowStrategy = {
  name: "webhook",
  async *follow(context, jobId, options) {
    const { clock, hints } = context;
    const deduper = new UpdateDeduper();
    const startedAt = clock.now();
    let expectedAt = firstExpectation(context, jobId, options);
    for (let hinted = 0; ; ) {
      const silentMs = silenceMs({ now: clock.now(), startedAt, expectedAt, longestMs });
      const waitMs = hinted > 0 ? Math.min(silentMs, lagMs * 2 ** hinted) : silentMs;
      const heard = await hintOrTimeout(hints, clock, jobId, waitMs, options.signal);
      if (heard || hinted > 0) {
        hinted++;
        const events = await pollJob(context, jobId, options, deduper);
        yield* events;
        if (isEnd(events)) return;
        continue;
      }
      const seen = await pollInSilence(context, jobId, options, deduper);
      yield* seen.events;
      if (seen.isOver) return yield* pollUntilFinished(context, jobId, options, deduper);
      expectedAt = seen.expectedAt ?? expectedAt;
    }
  },
};

function hintOrTimeout(
  hints: Hints,
  clock: Clock,
  jobId: string,
  waitMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const finish = (complete: () => void) => {
      timer.cancel();
      deafen();
      signal?.removeEventListener("abort", onAbort);
      complete();
    };
    const onAbort = () => finish(() => reject(signal?.reason));
    const timer = clock.setTimer(waitMs, () => finish(() => resolve(false)));
    const deafen = hints.listen(jobId, () => finish(() => resolve(true)));
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
