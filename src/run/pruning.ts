import { isStepFinal, type RunState } from "../journal/state.ts";
import { stepStates } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { failureKey } from "./failure-key.ts";
import { stepNamed } from "./plan-index.ts";
import { returnedReferences } from "./resolve.ts";

const MOST_REASONS = 3;

/** The first reasons and the number of the others, so that the message stays one line. */
export function firstReasons(reasons: readonly string[]): string {
  const more = reasons.length - MOST_REASONS;
  return reasons.slice(0, MOST_REASONS).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/**
 * The roots of a plan are what it returns, the steps that nothing uses, and those that are not to be pruned. A step is
 * needed while a root that depends on it can still succeed.
 */
export function isNeeded(state: RunState, path: string): boolean {
  const failures = failureKey(state);
  return failures === "" || rememberedNeeds(state, failures).has(path);
}

/** The end that ruled out the last root depending on a step. */
export function whyPruned(state: RunState, path: string): string {
  const open = [path];
  const seen = new Set(open);
  for (const one of open) {
    for (const user of usersIn(state, one)) {
      const { status, reason, pruned } = state.steps[user]!;
      if (isStepFinal(status) && !pruned) return `not needed any more: ${user} was ${status} (${reason})`;
      if (!seen.has(user)) open.push(user);
      seen.add(user);
    }
  }
  return "not needed any more";
}

/** Cached per plan object, which is replaced whenever its edges change: needed steps by failure key. */
const known = new WeakMap<Plan, { readonly failures: string; readonly needed: ReadonlySet<string> }>();

function rememberedNeeds(state: RunState, failures: string): ReadonlySet<string> {
  const { plan } = state.planned;
  const before = known.get(plan);
  if (before?.failures === failures) return before.needed;
  const needed = neededSteps(state, plan, (path) => endedWithoutResult(state, path));
  known.set(plan, { failures, needed });
  return needed;
}

/** The steps of a plan that a root still depends on, given these failed steps. */
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
  const loose = plan.steps.filter((step) => !used.has(step.path) || isKept(step));
  return [...returnedReferences(plan.returns).map(({ ref }) => ref.step), ...loose.map(({ path }) => path)];
}

function isKept(step: PlanStep): boolean {
  return "policy" in step && step.policy.prune === false;
}

/** The dependencies of a step; those of an expansion include its expanded steps. */
function usedBy({ steps }: RunState, { path, needs }: PlanStep): readonly string[] {
  const expanded = steps[path]?.expanded ?? null;
  return expanded === null ? needs : [...needs, ...expanded.map(({ $ref }) => $ref.step)];
}

function usersIn(state: RunState, path: string): readonly string[] {
  return state.planned.plan.steps.filter((step) => usedBy(state, step).includes(path)).map((step) => step.path);
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
  deciding.set(plan, found);
  return found;
}
