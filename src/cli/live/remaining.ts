import { makespan, type PlanStep } from "../../index.ts";
import type { RunView, StepView } from "./run-view.ts";

type Medians = ReadonlyMap<string, number> | undefined;

/** When a step's job will be through: as the service says, else as its model took before; null when nobody knows. */
export function expectedEnd(step: StepView, medians: Medians): number | null {
  if (step.etaAt !== null) return step.etaAt;
  const median = step.model === null ? undefined : medians?.get(step.model);
  const isAtService = step.phase === "queued" || step.phase === "rendering";
  return isAtService && median !== undefined && step.queuedAt !== null ? step.queuedAt + median : null;
}

export interface Remaining {
  readonly ms: number;
  /** More is to come that nobody can put a time to: a model that never ran, a decision, steps that are not planned yet. */
  readonly isLeast: boolean;
}

/** What is left of the run when jobs begin as its limits allow, the longest chain first. */
export function remainingOf(view: RunView, options: { readonly now: number; readonly medians?: Medians }): Remaining {
  const open = [...view.steps.values()].filter(({ finishedAt }) => finishedAt === null);
  const left = new Map(open.map((step) => [step.path, stepLeft(step, options)]));
  const steps = open.map(({ plan }): PlanStep => ({ ...plan, needs: plan.needs.filter((path) => left.has(path)) }));
  const durationMs = ({ path }: PlanStep) => left.get(path) ?? 0;
  const isRunning = ({ path }: PlanStep) => view.steps.get(path)?.queuedAt != null;
  const plan = { version: 1, pipeline: view.pipeline, steps, returns: {} } as const;
  const isLeast = open.some((step) => left.get(step.path) === null || isUnplanned(step, view));
  return { ms: makespan(plan, durationMs, view.limits, undefined, isRunning), isLeast };
}

/** Whether a step will lead to others that nobody knows yet. */
function isUnplanned({ kind, path }: StepView, { steps }: RunView): boolean {
  return kind === "expand" && ![...steps.keys()].some((one) => one.startsWith(`${path}/`));
}

/** Null where nobody can say. */
function stepLeft(
  step: StepView,
  { now, medians }: { readonly now: number; readonly medians?: Medians },
): number | null {
  if (step.kind === "approve") return null;
  const end = expectedEnd(step, medians);
  if (end !== null) return Math.max(0, end - now);
  if (step.model === null) return 0;
  return medians?.get(step.model) ?? null;
}
