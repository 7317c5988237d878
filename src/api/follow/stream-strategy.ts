import type { Clock } from "../clock.ts";
import { isTerminal } from "../job-status.ts";
import type { StreamFrame } from "../stream/frame.ts";
import { streamJob } from "../stream/stream.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { pollUntilFinished } from "./read-job.ts";
import { pollInSilence, silenceMs } from "./silence.ts";
import { type FollowContext, type FollowStrategy, firstExpectation, localInstant } from "./strategy.ts";
import { UpdateDeduper } from "./update-deduper.ts";

/** The items of a source, and `quiet` each time none came for as long as `quietMs` says. Ends with the source, and ends it when left. */
export async function* nextOrQuiet<T>(
  source: AsyncGenerator<T, void>,
  clock: Clock,
  quietMs: () => number,
): AsyncGenerator<T | "quiet", void> {
  let pending = source.next();
  let over = false;
  try {
    for (;;) {
      const step = await orQuiet(pending, clock, quietMs());
      if (step === "quiet") {
        yield step;
        continue;
      }
      over = step.done === true;
      if (step.done) return;
      pending = source.next();
      // Rejections are for the one who asks next; until then they are not unhandled.
      pending.catch(() => {});
      yield step.value;
    }
  } finally {
    if (!over) {
      pending.catch(() => {});
      void source.return().catch(() => {});
    }
  }
}

function orQuiet<T>(pending: Promise<T>, clock: Clock, quietMs: number): Promise<T | "quiet"> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(quietMs, () => resolve("quiet"), { background: true });
    pending.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** Most milliseconds without a frame before the status is read beside the stream, however alive the connection looks. */
const longestMs = 120_000;

export async function* streamFrom(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  deduper: UpdateDeduper = new UpdateDeduper(),
): AsyncGenerator<FollowEvent, void> {
  const { clock } = context;
  const startedAt = clock.now();
  let expectedAt = firstExpectation(context, jobId, options);
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const frames = streamJob(context, jobId, { signal, priority: options.priority });
  const quietMs = () => silenceMs({ now: clock.now(), startedAt, expectedAt, longestMs });
  try {
    for await (const frame of nextOrQuiet(frames, clock, quietMs)) {
      if (frame !== "quiet") {
        if (frame.type === "status") {
          expectedAt = localInstant(context, frame.status.estimatedCompletionAt) ?? expectedAt;
        }
        yield* told(frame, deduper);
        continue;
      }
      const polled = await pollInSilence(context, jobId, options, deduper);
      yield* polled.events;
      if (polled.isOver) break;
      expectedAt = polled.expectedAt ?? expectedAt;
    }
  } finally {
    stop.abort();
  }
  yield* pollUntilFinished(context, jobId, options, deduper);
}

function told(frame: StreamFrame, deduper: UpdateDeduper): FollowEvent[] {
  if (frame.type === "log") return deduper.logs([frame.log]);
  // The end comes as `finished`, read from the job itself.
  return frame.type === "status" && !isTerminal(frame.status.status) ? deduper.status(frame.status) : [];
}

/** Listens to the job's stream, with a timer behind it. */
export const streamStrategy: FollowStrategy = { name: "stream", follow: streamFrom };
