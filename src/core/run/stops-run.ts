import type { RunState, StepState } from "../journal/state.ts";
import { hasNext, isSecondChoice, optionsAround, traitsOf } from "../plan/index.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { failurePolicyOf } from "../plan/plan-index.ts";

type Steps = RunState["steps"];

/** Whether the end of a step stops the run: a failure, by its policy, unless something is still to come in its place. */
export function stopsRun(steps: Steps, plan: Plan, step: PlanStep): boolean {
  const ended = steps[step.path];
  if (ended === undefined || failureBehind(steps, plan, step) === null) return false;
  return failurePolicyOf(plan, step) === "failFast" && !hasSubstitute(plan, step, ended);
}

/** The step that failed: it, or within a choice or comparison that came to nothing the first, which stopped no run itself. */
export function failureBehind(steps: Steps, plan: Plan, step: PlanStep): PlanStep | null {
  const { status, skippedByCondition, pruned } = steps[step.path]!;
  if (status === "failed") return step;
  if (status !== "skipped" || skippedByCondition || pruned) return null;
  const parts = isSecondChoice(step) ? step.second.options : partsOf(step);
  return plan.steps.find(({ path }) => steps[path]?.status === "failed" && isWithin(path, parts)) ?? null;
}

/** Another option of a choice, another part of a comparison, or, of a step without a policy, a step that waits for this failure. */
function hasSubstitute(plan: Plan, step: PlanStep, { failures }: StepState): boolean {
  if (optionsAround(plan, step.path).some(hasNext)) return true;
  const code = failures.at(-1)?.error.code;
  const isAwaited = ({ when }: PlanStep) =>
    when !== undefined && "failed" in when && when.failed === step.path && (when.code ?? code) === code;
  return plan.steps.some((other) => isWithin(step.path, partsOf(other)) || (!("policy" in step) && isAwaited(other)));
}

function partsOf(step: PlanStep): readonly string[] {
  return traitsOf(step).decision?.parts ?? [];
}

function isWithin(path: string, parts: readonly string[]): boolean {
  return parts.some((part) => path.startsWith(`${part}/`));
}
