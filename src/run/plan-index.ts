import type { Plan, PlanStep } from "../plan/plan.ts";

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

const parts = new WeakMap<Plan, Map<string, readonly PlanStep[]>>();

/** The steps of a part: those that are named `<prefix>/…`. */
export function stepsWithin(plan: Plan, prefix: string): readonly PlanStep[] {
  const known = parts.get(plan) ?? new Map<string, readonly PlanStep[]>();
  parts.set(plan, known);
  const found = known.get(prefix) ?? plan.steps.filter(({ path }) => path.startsWith(`${prefix}/`));
  known.set(prefix, found);
  return found;
}
