import { criticalPath, dependentsOf, type JobLimits, makespan } from "./makespan.ts";
import type { Plan, PlanStep } from "./plan.ts";

export interface ForecastOptions {
  /** Expected duration of a step in milliseconds, queue included. */
  readonly durationMs: (step: PlanStep) => number;
  readonly limits: JobLimits;
  /** API requests that the key may send a minute; null when not known. */
  readonly requestsPerMinute: number | null;
  /** Milliseconds between two polls of one job. Default 5000. */
  readonly pollMs?: number;
  /** How long the service keeps outputs after completion, milliseconds. Default 48 h. */
  readonly retentionMs?: number;
}

export type FollowStrategy = "poll" | "stream" | "webhook";

export interface Forecast {
  /** If nothing had to wait for a slot or a request. */
  readonly criticalPathMs: number;
  /** Under the limits of jobs at once. */
  readonly makespanMs: number;
  /** What each way of following jobs costs in requests, and how long the run takes with the key's limit. */
  readonly byStrategy: { readonly [S in FollowStrategy]: StrategyForecast };
  /** Steps at which the run waits for a person, for nobody knows how long: no duration here counts that. */
  readonly approvals: readonly string[];
  /** Steps that lead to others once their value is known; those are in no figure here but `requestsAtMost`. */
  readonly expansions: readonly { readonly step: string; readonly maxSteps: number }[];
  /** Steps whose outputs may be gone at the service before the last step that uses them starts. */
  readonly expiryRisks: readonly string[];
}

export interface StrategyForecast {
  readonly requests: number;
  /** With every expansion at its most steps, each a job, and every answer of a chat repaired as often as may be. */
  readonly requestsAtMost: number;
  readonly makespanMs: number;
}

const DEFAULT_POLL_MS = 5_000;
const DEFAULT_RETENTION_MS = 48 * 3_600_000;
/** An estimate before the run, the submit, and the result at the end. */
const REQUESTS_PER_JOB = 3;

/** How long a run will take and how many API requests it will send, as far as that can be said before it starts. */
export function forecast(plan: Plan, options: ForecastOptions): Forecast {
  const { durationMs, limits } = options;
  const spanMs = makespan(plan, durationMs, limits);
  const { lengthMs } = criticalPath(plan, durationMs);
  const along = (strategy: FollowStrategy) => {
    const requests = plan.steps.reduce((sum, step) => sum + requestsOf(step, strategy, options), 0);
    const requestsAtMost = plan.steps.reduce((sum, step) => sum + requestsAtMostOf(step, strategy, options), 0);
    const sendingMs = options.requestsPerMinute === null ? 0 : (requests / options.requestsPerMinute) * 60_000;
    return { requests, requestsAtMost, makespanMs: Math.max(spanMs, Math.ceil(sendingMs)) };
  };
  return {
    criticalPathMs: lengthMs,
    makespanMs: spanMs,
    byStrategy: { poll: along("poll"), stream: along("stream"), webhook: along("webhook") },
    approvals: plan.steps.filter(({ kind }) => kind === "approve").map(({ path }) => path),
    expansions: plan.steps.flatMap((step) =>
      step.kind === "expand" ? [{ step: step.path, maxSteps: step.maxSteps }] : [],
    ),
    expiryRisks: expiryRisks(plan, options),
  };
}

function requestsOf(step: PlanStep, strategy: FollowStrategy, options: ForecastOptions): number {
  switch (step.kind) {
    case "upload":
    case "chat":
      return 1;
    case "job":
      return REQUESTS_PER_JOB + followRequests(options.durationMs(step), strategy, options);
    case "task":
    case "approve":
    case "pick":
    case "expand":
      return 0;
    default:
      return step satisfies never;
  }
}

function requestsAtMostOf(step: PlanStep, strategy: FollowStrategy, options: ForecastOptions): number {
  if (step.kind === "chat") return 1 + step.repairs;
  if (step.kind !== "expand") return requestsOf(step, strategy, options);
  return step.maxSteps * (REQUESTS_PER_JOB + followRequests(options.durationMs(step), strategy, options));
}

/** Requests between a job's submit and its result. */
function followRequests(durationMs: number, strategy: FollowStrategy, { pollMs }: ForecastOptions): number {
  switch (strategy) {
    case "poll":
      return Math.max(1, Math.ceil(durationMs / (pollMs ?? DEFAULT_POLL_MS)));
    case "stream":
      return 1;
    case "webhook":
      return 0;
    default:
      return strategy satisfies never;
  }
}

/**
 * A step's output is at risk when the steps between its end and its last use, one after the other, may outlast the
 * retention. A copy on disk heals it, so only steps that keep none are named.
 */
function expiryRisks(
  plan: Plan,
  { durationMs, retentionMs = DEFAULT_RETENTION_MS }: ForecastOptions,
): readonly string[] {
  const startsAt = new Map<string, number>();
  const durations = new Map(plan.steps.map((step) => [step.path, durationMs(step)]));
  const endOf = (path: string) => (startsAt.get(path) ?? 0) + (durations.get(path) ?? 0);
  for (const step of plan.steps)
    startsAt.set(
      step.path,
      step.needs.map(endOf).reduce((a, b) => Math.max(a, b), 0),
    );
  const dependents = dependentsOf(plan);
  return plan.steps
    .filter((step) => step.kind === "job" && !step.policy.keep && step.yields !== "voice")
    .filter(({ path }) => {
      const uses = (dependents.get(path) ?? []).map((user) => startsAt.get(user.path) ?? 0);
      const lastUse = uses.reduce((a, b) => Math.max(a, b), 0);
      return lastUse - endOf(path) > retentionMs;
    })
    .map(({ path }) => path);
}
