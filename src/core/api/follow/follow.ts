import { type Deadline, startDeadline } from "../clock.ts";
import { ApiError } from "../errors/api-error.ts";
import { ConnectionError, MalformedResponseError, TimeoutError } from "../errors/client-errors.ts";
import { SeenUpdates } from "../job-status.ts";
import { checkTimeout } from "../options.ts";
import { telemetry } from "../telemetry.ts";
import type { FollowContext, FollowEvent, FollowOptions } from "./context.ts";
import { pollBetween } from "./poll-once.ts";
import { sources } from "./sources.ts";

/** Yields each status and log event once, then `finished`. */
export async function* followJob(
  context: FollowContext,
  jobId: string,
  options: FollowOptions = {},
): AsyncGenerator<FollowEvent, void> {
  checkTimeout(options.deadlineMs, "deadlineMs");
  const span = await telemetry.open("showrunner.follow", {
    "showrunner.job_id": jobId,
    "showrunner.strategy": options.strategy ?? "auto",
  });
  const deadline = deadlineOf(context, options);
  try {
    for await (const event of chosen(context, jobId, deadline ? { ...options, signal: deadline.signal } : options)) {
      if (event.type === "finished") span.set({ "showrunner.outcome": event.outcome });
      options.onUpdate?.(event);
      yield event;
    }
    span.end();
  } catch (cause) {
    const error = deadline?.timedOut() ? tooLate(jobId, options.deadlineMs ?? 0, cause) : cause;
    span.end(error);
    throw error;
  } finally {
    deadline?.release();
    // Also reached when the caller leaves the loop early.
    span.end();
  }
}

function deadlineOf(context: FollowContext, { deadlineMs, signal }: FollowOptions): Deadline | null {
  return deadlineMs === undefined ? null : startDeadline(context.clock, deadlineMs, signal);
}

function tooLate(jobId: string, timeoutMs: number, cause: unknown): TimeoutError {
  const message = `job ${jobId} did not end within ${timeoutMs} ms, but it continues on the service; follow it again or read it later`;
  return new TimeoutError(message, { timeoutMs, sent: true, cause });
}

async function* chosen(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  const requested = options.strategy ?? "auto";
  const seen = new SeenUpdates();
  if (requested !== "auto") return yield* pollBetween(context, jobId, options, seen, sources[requested]);
  if (context.hints.fed) return yield* pollBetween(context, jobId, options, seen, sources.webhook);
  try {
    return yield* pollBetween(context, jobId, options, seen, sources.stream);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isStreamFailure(error)) throw error;
    context.logger.info({ jobId, reason: error.message }, "the stream does not work; polling instead");
    yield { type: "switched", from: "stream", to: "poll", reason: error.message };
  }
  yield* pollBetween(context, jobId, options, seen, sources.poll);
}

/** True if polling may still work, because the error concerns only the stream. */
function isStreamFailure(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeoutError || error instanceof MalformedResponseError)
    return true;
  return error instanceof ApiError && error.status !== 401 && error.status !== 403;
}
