import { lastAttempt, type RunState } from "../journal/state.ts";
import { dependentsOf } from "../plan/makespan.ts";
import type { Plan, PlanStep } from "../plan/plan.ts";
import { neededSteps } from "./pruning.ts";
import { toleratesFailure } from "./readiness.ts";

/** Limit of step groups evaluated per plan; the others keep their order, so that large plans start without delay. */
const MOST_GROUPS = 200;
/** Limit of steps looked at for all groups together. */
const MOST_LOOKS = 400_000;

/**
 * The cost that the failure of a step would avoid, micro-dollars. Among equally urgent steps the one that may avoid the
 * most runs first: a cheap gate before the expensive fan-out behind it.
 */
export function avoidedCost(state: RunState, plan: Plan): (step: PlanStep) => number {
  if (!plan.steps.some((step) => priceOf(state, step) > 0)) return () => 0;
  const mostGroups = Math.min(MOST_GROUPS, MOST_LOOKS / plan.steps.length);
  const users = dependentsOf(plan);
  const known = new Map<string, number>();
  // Steps with the same users take the same along.
  const ofUsers = (direct: readonly PlanStep[]): number => {
    const key = direct.map(({ path }) => path).join("\n");
    const before = known.get(key);
    if (before !== undefined) return before;
    const avoided = known.size < mostGroups ? costWithout(state, plan, lostWith(direct, users)) : 0;
    known.set(key, avoided);
    return avoided;
  };
  return (step) => {
    const direct = (users.get(step.path) ?? []).filter((user) => !toleratesFailure(user));
    return direct.length === 0 ? 0 : ofUsers(direct) - priceOf(state, step);
  };
}

function lostWith(direct: readonly PlanStep[], users: ReadonlyMap<string, readonly PlanStep[]>): ReadonlySet<string> {
  const lost = new Set(direct.map(({ path }) => path));
  for (const path of lost) {
    for (const user of users.get(path) ?? []) if (!toleratesFailure(user)) lost.add(user.path);
  }
  return lost;
}

function costWithout(state: RunState, plan: Plan, lost: ReadonlySet<string>): number {
  const needed = neededSteps(state, plan, (path) => lost.has(path));
  return plan.steps.reduce((sum, step) => sum + (needed.has(step.path) ? 0 : priceOf(state, step)), 0);
}

/** As quoted, else the most that it may cost. */
function priceOf({ steps }: RunState, step: PlanStep): number {
  const state = steps[step.path];
  const quoted = state === undefined ? null : (lastAttempt(state)?.quote?.costMicros ?? null);
  return quoted ?? ("policy" in step ? (step.policy.maxCostMicros ?? 0) : 0);
}
