import { isTerminal } from "../job-status.ts";
import { readStatus } from "../jobs.ts";
import type { StreamFrame } from "../stream/frame.ts";
import { streamJob } from "../stream/stream.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { nextOrQuiet } from "./next-or-quiet.ts";
import { untilSettled } from "./settle.ts";
import type { FollowContext, FollowStrategy } from "./strategy.ts";
import { Tail } from "./tail.ts";

/** Milliseconds without a frame after which the status is read beside the stream, however alive the connection looks. */
const quietMs = 120_000;

export async function* streamFrom(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
  tail: Tail = new Tail(),
): AsyncGenerator<FollowEvent, void> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const frames = streamJob(context, jobId, { signal, priority: options.priority });
  try {
    for await (const frame of nextOrQuiet(frames, context.clock, quietMs)) {
      if (frame !== "quiet") yield* told(frame, tail);
      else if (await endedUnheard(context, jobId, options)) break;
    }
  } finally {
    stop.abort();
  }
  yield* untilSettled(context, jobId, options, tail);
}

function told(frame: StreamFrame, tail: Tail): FollowEvent[] {
  if (frame.type === "log") return tail.logs([frame.log]);
  // The end is told by `settled`, from the job itself.
  return frame.type === "status" && !isTerminal(frame.status.status) ? tail.status(frame.status) : [];
}

async function endedUnheard(context: FollowContext, jobId: string, options: FollowOptions): Promise<boolean> {
  const view = await readStatus(context, jobId, { signal: options.signal, priority: options.priority });
  return isTerminal(view.status);
}

/** Listens to the job's stream, with a timer behind it. */
export const streamStrategy: FollowStrategy = { name: "stream", follow: streamFrom };
