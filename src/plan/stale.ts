import { traitsOf } from "./kinds/index.ts";
import type { PlanStep } from "./plan.ts";

/**
 * These steps and all that use them, directly or not. An expansion uses the steps that it was planned into: it is
 * through when they are.
 */
export function withDependents(steps: readonly PlanStep[], paths: Iterable<string>): ReadonlySet<string> {
  const users = usersOf(steps);
  const found = new Set(paths);
  for (const path of found) for (const user of users.get(path) ?? []) found.add(user);
  return found;
}

function usersOf(steps: readonly PlanStep[]): ReadonlyMap<string, readonly string[]> {
  const expansions = expansionsIn(steps);
  const found = new Map<string, string[]>();
  const note = (used: string, user: string) => {
    const list = found.get(used);
    if (list === undefined) found.set(used, [user]);
    else list.push(user);
  };
  for (const { path, needs } of steps) {
    for (const needed of needs) note(needed, path);
    for (const around of outerPaths(path)) if (expansions.has(around)) note(path, around);
  }
  return found;
}

/** Paths of the steps that lead to inner steps. */
export function expansionsIn(steps: readonly PlanStep[]): ReadonlySet<string> {
  return new Set(steps.filter((step) => traitsOf(step).maxInnerSteps !== null).map(({ path }) => path));
}

/** `a/b` and `a` for `a/b/c`. */
export function outerPaths(path: string): readonly string[] {
  const segments = path.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join("/"));
}
