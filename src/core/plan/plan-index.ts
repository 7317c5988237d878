import type { FailurePolicy, Plan, PlanStep } from "./plan.ts";

const indexes = new WeakMap<Plan, ReadonlyMap<string, PlanStep>>();

/** The step of a path; undefined when the plan has none. Looked up in an index, for plans with thousands of steps. */
export function stepNamed(plan: Plan, path: string): PlanStep | undefined {
  let index = indexes.get(plan);
  if (index === undefined) {
    index = new Map(plan.steps.map((step) => [step.path, step]));
    indexes.set(plan, index);
  }
  return index.get(path);
}

/** What becomes of the rest when a step fails: its own policy, else the pipeline's. */
export function failurePolicyOf({ onFailure }: Plan, step: PlanStep): FailurePolicy | undefined {
  const policy = "policy" in step ? step.policy.onFailure : "onFailure" in step ? step.onFailure : undefined;
  return policy ?? onFailure;
}
