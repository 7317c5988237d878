import type { Clock } from "../clock.ts";
import type { Hints } from "./hints.ts";
import { isEnd, look } from "./settle.ts";
import type { FollowStrategy } from "./strategy.ts";
import { firstExpectation } from "./strategy.ts";
import { Tail } from "./tail.ts";

/** The timer behind the webhook: how long after the expected end, and without one, a first look is taken. */
const [afterExpectedMs, blindMs] = [30_000, 300_000];
const longestMs = 600_000;
/** A webhook can be faster than the read it announces: looks that soon follow it. */
const lagMs = 1_000;

/** Waits for the webhook that a receiver hands to the client, with a timer behind it; one read of the job ends it. */
export const webhookStrategy: FollowStrategy = {
  name: "webhook",
  async *follow(context, jobId, options) {
    const tail = new Tail();
    const expectedAt = firstExpectation(context, options);
    let waitMs = expectedAt === null ? blindMs : Math.max(0, expectedAt - context.clock.now()) + afterExpectedMs;
    for (let hinted = 0; ; ) {
      const heard = await hintOrTimeout(
        context.hints,
        context.clock,
        jobId,
        hinted > 0 ? Math.min(waitMs, lagMs * 2 ** hinted) : waitMs,
        options.signal,
      );
      if (heard || hinted > 0) hinted++;
      else waitMs = Math.min(longestMs, waitMs * 1.5);
      const events = await look(context, jobId, options, tail);
      yield* events;
      if (isEnd(events)) return;
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
    const finish = (settle: () => void) => {
      timer.cancel();
      deafen();
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const onAbort = () => finish(() => reject(signal?.reason));
    const timer = clock.setTimer(waitMs, () => finish(() => resolve(false)));
    const deafen = hints.listen(jobId, () => finish(() => resolve(true)));
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
