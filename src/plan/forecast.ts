import { traitsOf } from "./kinds/index.ts";
import type { Requests } from "./kinds/kind.ts";
import { makespan } from "./makespan.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { JobLimits } from "./slots.ts";

export interface ForecastOptions {
  /** Expected duration of a step in milliseconds, queue included. */
  readonly durationMs: (step: PlanStep) => number;
  readonly limits: JobLimits;
  /** API requests that the key may send a minute; null when not known. */
  readonly requestsPerMinute: number | null;
}

export type FollowStrategy = "poll" | "stream" | "webhook";

export interface Forecast {
  /** What each way of following jobs costs in requests, and how long the run takes with the key's limit. */
  readonly byStrategy: { readonly [S in FollowStrategy]: StrategyForecast };
  /** Steps that lead to others once their value is known; those are in no figure here but `requestsAtMost`. */
  readonly expansions: readonly { readonly step: string; readonly maxSteps: number }[];
}

export interface StrategyForecast {
  readonly requests: number;
  /** With every expansion at its most steps, each a job, and every answer of a chat repaired as often as may be. */
  readonly requestsAtMost: number;
  readonly makespanMs: number;
}

/** Milliseconds between two polls of one job. */
const POLL_MS = 5_000;
/** An estimate before the run, the submit, and the result at the end. */
const REQUESTS_PER_JOB = 3;

/** How long a run will take and how many API requests it will send, as far as that can be said before it starts. */
export function forecast(plan: Plan, options: ForecastOptions): Forecast {
  const { durationMs, limits } = options;
  const spanMs = makespan(plan, durationMs, limits);
  const along = (strategy: FollowStrategy) => {
    const sumOf = (of: "requests" | "requestsAtMost") =>
      plan.steps.reduce((sum, step) => sum + requestsOf(step, traitsOf(step)[of], strategy, options), 0);
    const requests = sumOf("requests");
    const requestsAtMost = sumOf("requestsAtMost");
    const sendingMs = options.requestsPerMinute === null ? 0 : (requests / options.requestsPerMinute) * 60_000;
    return { requests, requestsAtMost, makespanMs: Math.max(spanMs, Math.ceil(sendingMs)) };
  };
  return {
    byStrategy: { poll: along("poll"), stream: along("stream"), webhook: along("webhook") },
    expansions: plan.steps.flatMap((step) => {
      const maxSteps = traitsOf(step).expansion?.maxSteps ?? null;
      return maxSteps === null ? [] : [{ step: step.path, maxSteps }];
    }),
  };
}

function requestsOf(
  step: PlanStep,
  { jobs, others }: Requests,
  strategy: FollowStrategy,
  options: ForecastOptions,
): number {
  if (jobs === 0) return others;
  return others + jobs * (REQUESTS_PER_JOB + followRequests(options.durationMs(step), strategy));
}

/** Requests between a job's submit and its result. */
function followRequests(durationMs: number, strategy: FollowStrategy): number {
  switch (strategy) {
    case "poll":
      return Math.max(1, Math.ceil(durationMs / POLL_MS));
    case "stream":
      return 1;
    case "webhook":
      return 0;
    default:
      return strategy satisfies never;
  }
}
