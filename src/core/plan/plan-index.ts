import type { FailurePolicy, Plan, PlanStep } from "./plan.ts";

const indexes = new WeakMap<Plan, ReadonlyMap<string, PlanStep>>();

/** Returns the step with this path, from an index, because a plan may have thousands of steps. */
export function stepNamed(plan: Plan, path: string): PlanStep | undefined {
  let index = indexes.get(plan);
  if (index === undefined) {
    index = new Map(plan.steps.map((step) => [step.path, step]));
    indexes.set(plan, index);
  }
  return index.get(path);
}

/** A step's own failure policy, or else the pipeline's. */
export function failurePolicyOf({ onFailure }: Plan, step: PlanStep): FailurePolicy | undefined {
  const policy = "policy" in step ? step.policy.onFailure : "onFailure" in step ? step.onFailure : undefined;
  return policy ?? onFailure;
}
