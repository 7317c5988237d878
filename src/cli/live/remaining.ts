import { makespan, type PlanStep, type StepView, traitsOf } from "../../index.ts";
import type { LiveRun } from "./live-run.ts";

type Medians = ReadonlyMap<string, number> | undefined;

/** When a step's job will finish: by the service's estimate, else by earlier durations of its model; null when unknown. */
export function expectedEnd(step: StepView, live: LiveRun, medians: Medians): number | null {
  const { etaAt } = live.progress(step);
  if (etaAt !== null) return etaAt;
  const median = step.model === null ? undefined : medians?.get(step.model);
  const queuedAt = step.current?.submittedAt ?? null;
  const isAtService = step.phase === "queued" || step.phase === "rendering";
  return isAtService && median !== undefined && queuedAt !== null ? queuedAt + median : null;
}

export interface Remaining {
  readonly ms: number;
  /** More is to come that nobody can put a time to: a model that never ran, a decision, steps that are not planned yet. */
  readonly isLeast: boolean;
}

/** What is left of the run when jobs begin as its limits allow, the longest chain first. */
export function remainingOf(live: LiveRun, options: { readonly now: number; readonly medians?: Medians }): Remaining {
  const { steps: all = [], state } = live.view ?? {};
  const open = all.filter(({ finishedAt }) => finishedAt === null);
  const left = new Map(open.map((step) => [step.path, stepLeft(step, live, options)]));
  const steps = open.map(({ plan }): PlanStep => ({ ...plan, needs: plan.needs.filter((path) => left.has(path)) }));
  const durationMs = ({ path }: PlanStep) => left.get(path) ?? 0;
  const isRunning = ({ path }: PlanStep) => live.view?.step(path)?.current?.submittedAt != null;
  const isLeast = open.some((step) => left.get(step.path) === null || isUnplanned(step, all));
  const plan = { version: 1, pipeline: "", steps, returns: {} } as const;
  const limits = state?.planned.limits;
  return { ms: limits === undefined ? 0 : makespan(plan, durationMs, limits, undefined, isRunning), isLeast };
}

/** Whether a step will add steps that are not planned yet. */
function isUnplanned({ plan, path }: StepView, steps: readonly StepView[]): boolean {
  return traitsOf(plan).maxInnerSteps !== null && !steps.some((one) => one.path.startsWith(`${path}/`));
}

/** Null where unknown. */
function stepLeft(
  step: StepView,
  live: LiveRun,
  { now, medians }: { readonly now: number; readonly medians?: Medians },
): number | null {
  if (traitsOf(step.plan).needsPerson) return null;
  const end = expectedEnd(step, live, medians);
  if (end !== null) return Math.max(0, end - now);
  if (step.model === null) return 0;
  return medians?.get(step.model) ?? null;
}
