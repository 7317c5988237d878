import { ApiError } from "../errors/api-error.ts";
import { ConnectionError } from "../errors/connection-error.ts";
import { TimeoutError } from "../errors/timeout-error.ts";
import type { HttpContext } from "../http/call.ts";
import { streamJob } from "../stream/stream.ts";
import type { FollowEvent, FollowOptions } from "./follow-event.ts";
import { pollJob } from "./poll.ts";
import { settled } from "./settle.ts";

/**
 * Follows one job to its end, whatever the strategy: every status and log that becomes known, then `settled` with the
 * job as GET /jobs/{id} shows it. Throws ApiError where the job cannot be read.
 */
export async function* followJob(
  context: HttpContext,
  jobId: string,
  options: FollowOptions = {},
): AsyncGenerator<FollowEvent, void> {
  for await (const event of chosen(context, jobId, options)) {
    options.onUpdate?.(event);
    yield event;
  }
}

function chosen(context: HttpContext, jobId: string, options: FollowOptions): AsyncGenerator<FollowEvent, void> {
  switch (options.strategy ?? "auto") {
    case "stream":
      return followStream(context, jobId, options);
    case "poll":
    case "webhook":
      return pollJob(context, jobId, options);
    case "auto":
      return followAuto(context, jobId, options);
  }
}

async function* followStream(
  context: HttpContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  for await (const frame of streamJob(context, jobId, { signal: options.signal, priority: options.priority })) {
    if (frame.type === "status") yield { type: "status", status: frame.status };
    if (frame.type === "log") yield { type: "log", log: frame.log };
  }
  yield await settled(context, jobId, options);
}

async function* followAuto(
  context: HttpContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  try {
    return yield* followStream(context, jobId, options);
  } catch (error) {
    if (!isStreamTrouble(error)) throw error;
    yield { type: "switched", from: "stream", to: "poll", reason: error.message };
  }
  yield* pollJob(context, jobId, options);
}

/** True when only the stream failed, so that reading the job may still work. */
function isStreamTrouble(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  return error instanceof ApiError && error.status !== 401 && error.status !== 403;
}
