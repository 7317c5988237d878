import { isStepFinal, type RunState } from "../journal/state.ts";
import { stepStates } from "../lifecycle/index.ts";
import { hasNext, optionsIn, traitsOf } from "../plan/index.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { stepNamed } from "../plan/plan-index.ts";
import { returnedReferences } from "./resolve.ts";

const MOST_REASONS = 3;

/** The first reasons and the number of the others, so that the message stays one line. */
export function firstReasons(reasons: readonly string[]): string {
  const more = reasons.length - MOST_REASONS;
  return reasons.slice(0, MOST_REASONS).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** The end that ruled out the last root depending on a step. */
export function whyPruned(state: RunState, path: string, usersOf: (path: string) => Iterable<string>): string {
  const open = new Set([path]);
  for (const unused of open) {
    for (const user of usersOf(unused)) {
      const { status, reason, pruned } = state.steps[user]!;
      if (isStepFinal(status) && !pruned) return `not needed any more: ${user} was ${status} (${reason})`;
      open.add(user);
    }
  }
  return "not needed any more";
}

/**
 * The steps that a root of the plan still depends on, given these failed steps. Roots are what the plan returns, the steps
 * that nothing uses, and those that are not to be pruned.
 */
export function neededSteps(state: RunState, plan: Plan, isOut: (path: string) => boolean): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (path: string) => void (isOut(path) || found.add(path));
  for (const path of rootsOf(state, plan)) add(path);
  for (const path of found) {
    const step = stepNamed(plan, path);
    if (step !== undefined) for (const used of usedBy(state, step)) add(used);
  }
  return found;
}

/** Ended without a result. */
export function endedWithoutResult({ steps }: RunState, path: string): boolean {
  const status = steps[path]?.status;
  return status !== undefined && stepStates.withoutResult.has(status);
}

function rootsOf(state: RunState, plan: Plan): Iterable<string> {
  const used = new Set(plan.steps.flatMap((step) => usedBy(state, step)));
  const loose = plan.steps.filter((step) => !used.has(step.path) || isNeverPruned(step));
  return [...returnedReferences(plan.returns).map(({ ref }) => ref.step), ...loose.map(({ path }) => path)];
}

export function isNeverPruned(step: PlanStep): boolean {
  return "policy" in step && step.policy.prune === false;
}

/** The dependencies of a step; those of an expansion include its expanded steps. */
export function usedBy({ steps }: RunState, { path, needs }: PlanStep): readonly string[] {
  const expanded = steps[path]?.expanded ?? null;
  return expanded === null ? needs : [...needs, ...expanded.map(({ $ref }) => $ref.step)];
}

const deciding = new WeakMap<Plan, ReadonlySet<string>>();

/** Steps that may rule out their dependents although they succeed: conditions and inputs read their result. */
export function decidingSteps(plan: Plan): ReadonlySet<string> {
  const before = deciding.get(plan);
  if (before !== undefined) return before;
  const found = new Set<string>();
  for (const step of plan.steps) {
    if (traitsOf(step).expansion !== null) found.add(step.path);
    if (step.when !== undefined) found.add("failed" in step.when ? step.when.failed : step.when.ref.step);
    for (const { as, step: used } of traitsOf(step).uses) if (as === "value") found.add(used);
  }
  for (const option of optionsIn(plan).values()) {
    if (hasNext(option)) for (const { path } of option.steps) found.add(path);
  }
  deciding.set(plan, found);
  return found;
}
