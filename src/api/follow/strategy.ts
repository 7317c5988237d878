import type { HttpContext } from "../http/call.ts";
import type { AckEstimates } from "./ack-estimates.ts";
import type { DurationHistory } from "./duration-history.ts";
import type { FollowEvent, FollowOptions, FollowStrategyName } from "./follow-event.ts";
import type { Hints } from "./hints.ts";

/** What every strategy works with. */
export interface FollowContext extends HttpContext {
  readonly history: DurationHistory;
  readonly hints: Hints;
  readonly estimates: AckEstimates;
}

/**
 * One way to learn that a job ended. Every implementation tells each log event once, never shows a job moving back,
 * ends with `finished` from GET /jobs/{id}, rejects with the signal's reason, and leaves no timer or socket behind.
 */
export interface FollowStrategy {
  readonly name: FollowStrategyName;
  follow(context: FollowContext, jobId: string, options: FollowOptions): AsyncGenerator<FollowEvent, void>;
}

/** An instant of the service as this machine's clock shows it. */
export function localInstant(context: FollowContext, instant: string | null | undefined): number | null {
  const at = Date.parse(instant ?? "");
  return Number.isNaN(at) ? null : at - context.pacer.clockOffsetMs();
}

/** When the job should be done: the estimate of its acknowledgement, else what jobs of its model took. */
export function firstExpectation(context: FollowContext, jobId: string, options: FollowOptions): number | null {
  const estimate = localInstant(context, options.estimatedCompletionAt ?? context.estimates.of(jobId));
  if (estimate !== null) return estimate;
  const typicalMs = context.history.typicalMs(options.model ?? null);
  return typicalMs === null ? null : context.clock.now() + typicalMs;
}
