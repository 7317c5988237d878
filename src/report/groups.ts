import { type Plan, type PlanStep, traitsOf } from "../index.ts";

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

/**
 * The plan with what its values led to drawn where it belongs: steps of an expansion come after it, and what uses the
 * expansion after them. Every step comes after those it needs.
 */
export function withExpansions(plan: Plan): Plan {
  const expansions = plan.steps.filter((step) => traitsOf(step).maxInnerSteps !== null).map(({ path }) => path);
  if (expansions.length === 0) return { ...plan, steps: inOrder(plan.steps) };
  const parent = (path: string) =>
    expansions
      .filter((one) => path.startsWith(`${one}/`))
      .reduce((longest, one) => (one.length > longest.length ? one : longest), "");
  const lasts = lastsOf(plan, parent);
  const steps = plan.steps.map((step): PlanStep => {
    const own = parent(step.path);
    const inner = step.needs.flatMap((need) => (own === need ? [] : (lasts.get(need) ?? [])));
    const isFirst = own !== "" && !step.needs.some((need) => parent(need) === own);
    const needs = new Set([...step.needs, ...inner, ...(isFirst ? [own] : [])]);
    needs.delete(step.path);
    return { ...step, needs: [...needs].sort() };
  });
  return { ...plan, steps: inOrder(steps) };
}

/** The steps of each expansion that no other step of it uses. */
function lastsOf(plan: Plan, parent: (path: string) => string): ReadonlyMap<string, readonly string[]> {
  const used = new Set(plan.steps.flatMap((step) => step.needs.map((need) => `${parent(step.path)} ${need}`)));
  const lasts = new Map<string, string[]>();
  for (const { path } of plan.steps) {
    const own = parent(path);
    if (own === "" || used.has(`${own} ${path}`)) continue;
    lasts.set(own, [...(lasts.get(own) ?? []), path]);
  }
  return lasts;
}

/** Every step after those it needs; what goes in a circle, or needs what is not there, stays where it was. */
function inOrder(steps: readonly PlanStep[]): readonly PlanStep[] {
  const byPath = new Map(steps.map((step) => [step.path, step]));
  const done = new Set<string>();
  const sorted: PlanStep[] = [];
  const visit = (step: PlanStep) => {
    if (done.has(step.path)) return;
    done.add(step.path);
    for (const need of step.needs) {
      const needed = byPath.get(need);
      if (needed !== undefined) visit(needed);
    }
    sorted.push(step);
  };
  for (const step of steps) visit(step);
  const placed = new Set<string>();
  return sorted.map((step) => {
    const needs = step.needs.filter((need) => placed.has(need));
    placed.add(step.path);
    return { ...step, needs };
  });
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
