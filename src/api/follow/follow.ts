import { ApiError } from "../errors/api-error.ts";
import { ConnectionError, MalformedResponseError, TimeoutError } from "../errors/client-errors.ts";
import { type Deadline, startDeadline } from "../http/deadline.ts";
import { telemetry } from "../telemetry.ts";
import type { FollowEvent, FollowOptions, FollowStrategyName } from "./follow-event.ts";
import { pollFrom, pollStrategy } from "./poll-strategy.ts";
import type { FollowContext, FollowStrategy } from "./strategy.ts";
import { streamFrom, streamStrategy } from "./stream-strategy.ts";
import { UpdateDeduper } from "./update-deduper.ts";
import { webhookStrategy } from "./webhook-strategy.ts";

export const strategies: Readonly<Record<FollowStrategyName, FollowStrategy>> = {
  stream: streamStrategy,
  poll: pollStrategy,
  webhook: webhookStrategy,
};

/**
 * Follows one job to its end, whatever the strategy: every status and log that becomes known, then `finished` with the
 * job as GET /jobs/{id} shows it. Throws ApiError where the job cannot be read, and TimeoutError at the deadline.
 */
export async function* followJob(
  context: FollowContext,
  jobId: string,
  options: FollowOptions = {},
): AsyncGenerator<FollowEvent, void> {
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
    // A caller that leaves the loop early ends the span, too.
    span.end();
  }
}

/** Null without one: thousands of follows at once should not each pay for what they do not use. */
function deadlineOf(context: FollowContext, { deadlineMs, signal }: FollowOptions): Deadline | null {
  return deadlineMs === undefined ? null : startDeadline(context.clock, deadlineMs, signal);
}

function tooLate(jobId: string, timeoutMs: number, cause: unknown): TimeoutError {
  const message = `${jobId} did not end within ${timeoutMs} ms; it goes on at the service, so follow it again or read it later`;
  return new TimeoutError(message, { timeoutMs, sent: true, cause });
}

function chosen(context: FollowContext, jobId: string, options: FollowOptions): AsyncGenerator<FollowEvent, void> {
  const requested = options.strategy ?? "auto";
  if (requested !== "auto") return strategies[requested].follow(context, jobId, options);
  return context.hints.fed ? webhookStrategy.follow(context, jobId, options) : streamElsePoll(context, jobId, options);
}

async function* streamElsePoll(
  context: FollowContext,
  jobId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  const deduper = new UpdateDeduper();
  try {
    return yield* streamFrom(context, jobId, options, deduper);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isStreamFailure(error)) throw error;
    context.logger.info({ jobId, reason: error.message }, "stream does not work, polling instead");
    yield { type: "switched", from: "stream", to: "poll", reason: error.message };
  }
  yield* pollFrom(context, jobId, options, deduper);
}

/** True when only the stream failed, so that reading the job may still work. */
function isStreamFailure(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeoutError || error instanceof MalformedResponseError)
    return true;
  return error instanceof ApiError && error.status !== 401 && error.status !== 403;
}
