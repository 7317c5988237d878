import type { Plan, PlanStep } from "../index.ts";

/** Above this many steps, those that are alike are shown as one. */
export const MANY_STEPS = 60;

/** The name of a step without its numbers: `shot-12/voice` is one of `shot-#/voice`. */
export function patternOf(path: string): string {
  return path.replace(/\d+/g, "#");
}

export interface Condensed {
  readonly plan: Plan;
  /** Paths of the steps that a step of the condensed plan stands for. */
  readonly members: ReadonlyMap<string, readonly string[]>;
}

/**
 * The plan with steps of the same pattern, kind and depth drawn as one. Depth rises along every edge, so that no circle
 * comes of it.
 */
export function condense(plan: Plan): Condensed {
  const depths = depthsOf(plan);
  const groups = new Map<string, PlanStep[]>();
  for (const step of plan.steps) {
    const key = JSON.stringify([patternOf(step.path), step.kind, depths.get(step.path)]);
    groups.set(key, [...(groups.get(key) ?? []), step]);
  }
  const names = new Map<string, string>();
  const members = new Map<string, readonly string[]>();
  for (const steps of groups.values()) {
    const name = nameOf(steps, members);
    members.set(
      name,
      steps.map(({ path }) => path),
    );
    for (const { path } of steps) names.set(path, name);
  }
  const steps = [...groups.values()].map((all): PlanStep => {
    const path = names.get(all[0]!.path)!;
    const needs = new Set(all.flatMap((step) => step.needs.map((need) => names.get(need) ?? need)));
    return { ...all[0]!, path, needs: [...needs].sort() };
  });
  const depthOf = (step: PlanStep) => depths.get(members.get(step.path)![0]!) ?? 0;
  return { plan: { ...plan, steps: steps.sort((a, b) => depthOf(a) - depthOf(b)) }, members };
}

function nameOf(steps: readonly PlanStep[], taken: ReadonlyMap<string, unknown>): string {
  const [first] = steps;
  const base = steps.length === 1 ? first!.path : `${steps.length} × ${patternOf(first!.path)}`;
  let name = base;
  for (let n = 2; taken.has(name); n += 1) name = `${base} (${n})`;
  return name;
}

/** How many steps lie before each, along its longest way. */
export function depthsOf(plan: Plan): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const { path, needs } of plan.steps) {
    depths.set(
      path,
      needs.reduce((most, need) => Math.max(most, (depths.get(need) ?? 0) + 1), 0),
    );
  }
  return depths;
}
