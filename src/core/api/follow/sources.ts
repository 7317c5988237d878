import { type Clock, sleep } from "../clock.ts";
import { type StreamFrame, streamJob } from "../stream/stream.ts";
import type { FollowContext, FollowOptions, FollowStrategyName } from "./context.ts";
import { type NextPoll, nextPoll, type PollView, silenceMs } from "./schedule.ts";

export interface Source {
  schedule(view: PollView & { readonly hints: number }): NextPoll;
  wait(delayMs: number): Promise<StreamFrame | "hint" | "end" | "nothing">;
  close(): void;
  /** If absent, polls of the status request no logs. */
  readonly logsAfter?: string;
}

type OpenSource = (context: FollowContext, jobId: string, options: FollowOptions) => Source;

export const sources: Readonly<Record<FollowStrategyName, OpenSource>> = {
  poll: pollSource,
  stream: streamSource,
  webhook: webhookSource,
};

/** Maximum random share added to each delay, so that jobs submitted together are not polled together. */
const spread = 0.05;

function pollSource({ clock, random }: FollowContext, _jobId: string, { signal }: FollowOptions): Source {
  return {
    logsAfter: "start",
    schedule: nextPoll,
    wait: async (delayMs) => {
      await sleep(clock, delayMs * (1 + random() * spread), signal);
      return "nothing";
    },
    close: () => {},
  };
}

const longestSilenceMs = { stream: 120_000, webhook: 600_000 };

function streamSource(context: FollowContext, jobId: string, { signal, priority }: FollowOptions): Source {
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const frames = streamJob(context, jobId, { signal: either, priority });
  const read = () => {
    const next = frames.next();
    // The next `wait` handles a rejection, so it must not be reported as unhandled.
    next.catch(() => {});
    return next;
  };
  let pending = read();
  return {
    schedule: (view) => ({ delayMs: silenceMs({ ...view, longestMs: longestSilenceMs.stream }), at: "status" }),
    async wait(delayMs) {
      const step = await orNothing(pending, context.clock, delayMs);
      if (step === "nothing") return step;
      if (step.done) return "end";
      pending = read();
      return step.value;
    },
    close() {
      stop.abort();
      void frames.return().catch(() => {});
    },
  };
}

function orNothing<T>(pending: Promise<T>, clock: Clock, delayMs: number): Promise<T | "nothing"> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(delayMs, () => resolve("nothing"), { background: true });
    pending.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** Base delay after a webhook, doubled each time the job is still returned as open. */
const lagMs = 1_000;

function webhookSource({ clock, hints }: FollowContext, jobId: string, { signal }: FollowOptions): Source {
  return {
    schedule: (view) => {
      const silentMs = silenceMs({ ...view, longestMs: longestSilenceMs.webhook });
      if (view.hints === 0) return { delayMs: silentMs, at: "status" };
      return { delayMs: Math.min(silentMs, lagMs * 2 ** view.hints), at: "job" };
    },
    wait: (delayMs) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const finish = (complete: () => void) => {
          timer.cancel();
          unlisten();
          signal?.removeEventListener("abort", onAbort);
          complete();
        };
        const onAbort = () => finish(() => reject(signal?.reason));
        const timer = clock.setTimer(delayMs, () => finish(() => resolve("nothing")));
        const unlisten = hints.listen(jobId, () => finish(() => resolve("hint")));
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    close: () => {},
  };
}
