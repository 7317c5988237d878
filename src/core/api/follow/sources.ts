import { type Clock, sleep } from "../clock.ts";
import { type StreamFrame, streamJob } from "../stream/stream.ts";
import type { FollowContext, FollowOptions, FollowStrategyName } from "./context.ts";

export interface Source {
  schedule(view: PollView & { readonly hints: number }): NextPoll;
  wait(delayMs: number): Promise<StreamFrame | "hint" | "end" | "nothing">;
  close(): void;
  /** Log cursor. If set, status polls also request the logs after it. */
  readonly logsAfter?: string;
}

type OpenSource = (context: FollowContext, jobId: string, options: FollowOptions) => Source;

export const sources: Readonly<Record<FollowStrategyName, OpenSource>> = {
  poll: pollSource,
  stream: streamSource,
  webhook: webhookSource,
};

/**
 * Maximum random addition to a delay, as a fraction of the delay. The randomness keeps jobs from being polled all at
 * once.
 */
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

/**
 * Base in milliseconds of the delay between a webhook and the next read of the job. The delay doubles each time the
 * service still reports the job as open.
 */
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
/** How long after a job's estimated end to poll it, in milliseconds. Jobs usually end slightly later than estimated. */
const marginMs = 500;
const firstDelayMs = 3_000;
/**
 * Delays between polls, as multiples of the job's age: while the job is queued, while its expected end is unknown, and
 * once it is overdue.
 */
const [queuedShare, blindShare, overdueShare] = [1.5, 0.5, 0.1];
/** Minimum delay between polls before a job's expected end, as a share of the job's age. */
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

interface SilenceView {
  readonly now: number;
  readonly startedAt: number;
  readonly expectedAt: number | null;
  readonly longestMs: number;
}

/**
 * How much longer than expected to wait for news of a job before polling: a share of its expected duration, with a
 * minimum and a maximum.
 */
const [marginShare, leastMarginMs, mostMarginMs] = [0.25, 1_000, 30_000];
/**
 * How long to wait for news of a job before polling it: a share of the job's age, but at least `leastOverdueMs` if its
 * expected end has passed, or `leastBlindMs` if that is unknown.
 */
const [silentShare, leastOverdueMs, leastBlindMs] = [0.5, 2_000, 15_000];

export function silenceMs({ now, startedAt, expectedAt, longestMs }: SilenceView): number {
  if (expectedAt !== null && expectedAt > now) {
    const margin = Math.max(leastMarginMs, (expectedAt - startedAt) * marginShare);
    return Math.min(longestMs, expectedAt - now + Math.min(mostMarginMs, margin));
  }
  const least = expectedAt === null ? leastBlindMs : leastOverdueMs;
  return Math.min(longestMs, Math.max(least, (now - startedAt) * silentShare));
}
