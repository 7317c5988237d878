import { forecast, type JobLimits, type Plan, type PlanStep, type Showrunner } from "../../index.ts";
import { expectedMs, pastMedians } from "../input/past-durations.ts";
import type { PlanForecast } from "./forecast-lines.ts";

const DEFAULT_TOTAL = 8;

export interface ForecastLimits {
  /** As `--concurrency` says; null: the default. */
  readonly concurrency: number | Readonly<Record<string, number>> | null;
  /** As `--rate-limit` says; null: what the service has told, if anything. */
  readonly rateLimit: { readonly requests: number; readonly windowMs: number } | null;
}

/** How long a plan will take by what the models took before, and how many requests it will send. */
export async function forecastOf(show: Showrunner, plan: Plan, limits: ForecastLimits): Promise<PlanForecast> {
  const medians = await pastMedians(show);
  const models = plan.steps.flatMap((step) =>
    expectedMs(step, medians) === null && "model" in step ? [step.model] : [],
  );
  const unknownModels = [...new Set(models)].sort();
  const durationMs = (step: PlanStep) => expectedMs(step, medians) ?? 0;
  const requestsPerMinute = perMinute(show, limits);
  const found = forecast(plan, { durationMs, limits: jobLimits(limits.concurrency), requestsPerMinute });
  const known = <S extends { readonly requests: number; readonly makespanMs: number }>({
    requests,
    makespanMs,
  }: S) => ({
    requests,
    makespanMs: unknownModels.length > 0 ? null : makespanMs,
  });
  const { poll, stream, webhook } = found.byStrategy;
  return {
    unknownModels,
    requestsPerMinute,
    byStrategy: { poll: known(poll), stream: known(stream), webhook: known(webhook) },
    expiryRisks: unknownModels.length > 0 ? [] : found.expiryRisks,
  };
}

function perMinute(show: Showrunner, { rateLimit }: ForecastLimits): number | null {
  if (rateLimit !== null) return Math.round((rateLimit.requests / rateLimit.windowMs) * 60_000);
  const { limit } = show.client.pace();
  return limit === null ? null : Math.round((limit.requests / limit.perMs) * 60_000);
}

function jobLimits(concurrency: ForecastLimits["concurrency"]): JobLimits {
  if (concurrency === null || typeof concurrency === "number") {
    return { total: concurrency ?? DEFAULT_TOTAL, perModel: {}, perModality: {} };
  }
  const { total = DEFAULT_TOTAL, ...named } = concurrency;
  const isModality = (name: string) => ["image", "video", "audio"].includes(name);
  const pick = (wanted: boolean) =>
    Object.fromEntries(Object.entries(named).filter(([name]) => isModality(name) === wanted));
  return { total, perModel: pick(false), perModality: pick(true) };
}
