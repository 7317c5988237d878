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

/** So many nodes can still be overlooked in a picture. */
const MOST_GROUPS = 150;

/**
 * The plan with steps of the same pattern, kind and depth drawn as one. Where that leaves too many, depth does not count,
 * then the pattern does not. No edge leads back to an earlier group, so that no circle comes of it.
 */
export function condense(plan: Plan): Condensed {
  const depths = depthsOf(plan);
  const fine = (step: PlanStep) => JSON.stringify([patternOf(step.path), step.kind, depths.get(step.path)]);
  const alike = (step: PlanStep) => JSON.stringify([patternOf(step.path), step.kind]);
  const coarse = (step: PlanStep) => ("model" in step ? step.model : step.kind);
  const keys = [fine, alike].find((key) => new Set(plan.steps.map(key)).size <= MOST_GROUPS);
  const groups = [...Map.groupBy(plan.steps, keys ?? coarse).values()];
  const depthOf = (steps: readonly PlanStep[]) => depths.get(steps[0]!.path) ?? 0;
  const ordered = groups.sort((a, b) => depthOf(a) - depthOf(b));
  const members = new Map<string, readonly string[]>();
  const names = new Map<string, string>();
  for (const steps of ordered) {
    const pattern = keys === undefined ? coarse(steps[0]!) : patternOf(steps[0]!.path);
    const name = nameOf(steps, pattern, members);
    const paths = steps.map(({ path }) => path);
    members.set(name, paths);
    for (const path of paths) names.set(path, name);
  }
  const drawn = new Set<string>();
  const steps = ordered.map((all): PlanStep => {
    const path = names.get(all[0]!.path)!;
    const needs = new Set(all.flatMap((step) => step.needs.map((need) => names.get(need) ?? need)));
    const earlier = [...needs].filter((need) => drawn.has(need) || !members.has(need));
    drawn.add(path);
    return { ...all[0]!, path, needs: earlier.sort() };
  });
  return { plan: { ...plan, steps }, members };
}

function nameOf(steps: readonly PlanStep[], pattern: string, others: ReadonlyMap<string, unknown>): string {
  const base = steps.length === 1 ? steps[0]!.path : `${steps.length} × ${pattern}`;
  let name = base;
  for (let n = 2; others.has(name); n += 1) name = `${base} (${n})`;
  return name;
}

/**
 * The plan with what its values led to drawn where it belongs: steps of an expansion come after it, and what uses the
 * expansion after them. Every step comes after those it needs.
 */
export function withExpansions(plan: Plan): Plan {
  const isExpansion = (step: PlanStep) => traitsOf(step).expansion !== null;
  const expansions = new Set(plan.steps.filter(isExpansion).map(({ path }) => path));
  if (expansions.size === 0) return { ...plan, steps: inOrder(plan.steps) };
  const parent = (path: string): string => {
    const above = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    return above === "" || expansions.has(above) ? above : parent(above);
  };
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
    const known = lasts.get(own);
    if (known === undefined) lasts.set(own, [path]);
    else known.push(path);
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
