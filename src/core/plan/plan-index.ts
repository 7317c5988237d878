import type { FailurePolicy, Plan, PlanStep } from "./plan.ts";

const indexes = new WeakMap<Plan, ReadonlyMap<string, PlanStep>>();

export function stepNamed(plan: Plan, path: string): PlanStep | undefined {
  let index = indexes.get(plan);
  if (index === undefined) {
    index = new Map(plan.steps.map((step) => [step.path, step]));
    indexes.set(plan, index);
  }
  return index.get(path);
}

export function failurePolicyOf({ onFailure }: Plan, step: PlanStep): FailurePolicy | undefined {
  const policy = "policy" in step ? step.policy.onFailure : "onFailure" in step ? step.onFailure : undefined;
  return policy ?? onFailure;
}
