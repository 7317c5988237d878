import { hasNext, optionsAround, traitsOf } from "../plan/index.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { failurePolicyOf } from "../plan/plan-index.ts";

/** Whether the failure of a step stops the run: by its policy, unless something else is still to come in its place. */
export function stopsRun(plan: Plan, step: PlanStep): boolean {
  return failurePolicyOf(plan, step) === "failFast" && !hasSubstitute(plan, step);
}

/** Another option of a choice, another part of a comparison, or, of a step without a policy, a step that waits for its failure. */
function hasSubstitute(plan: Plan, step: PlanStep): boolean {
  const { path } = step;
  if (optionsAround(plan, path).some(hasNext)) return true;
  return plan.steps.some((other) => {
    if (traitsOf(other).decision?.parts?.some((part) => path.startsWith(`${part}/`)) === true) return true;
    return !("policy" in step) && other.when !== undefined && "failed" in other.when && other.when.failed === path;
  });
}
