import { listSchedule, type PlanGraph, planGraph, type StepOrder } from "./list-schedule.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { JobLimits } from "./slots.ts";

export interface CriticalPath {
  /** Step paths of the longest chain, first step first. */
  readonly path: readonly string[];
  readonly lengthMs: number;
}

/** The chain of steps that decides how long the run takes when nothing has to wait for a slot. */
export function criticalPath(plan: Plan, durationMs: (step: PlanStep) => number): CriticalPath {
  const longestAfter = new Map<string, { readonly step: string; readonly ms: number }>();
  let first: { readonly step: string; readonly ms: number } | null = null;
  // Every step comes after those it needs, so backwards every sum is final when it is read.
  for (const step of plan.steps.toReversed()) {
    const ms = durationMs(step) + (longestAfter.get(step.path)?.ms ?? 0);
    for (const needed of step.needs) {
      const known = longestAfter.get(needed);
      if (known === undefined || known.ms < ms) longestAfter.set(needed, { step: step.path, ms });
    }
    if (first === null || first.ms <= ms) first = { step: step.path, ms };
  }
  const path: string[] = [];
  for (let at = first?.step; at !== undefined; at = longestAfter.get(at)?.step) path.push(at);
  return { path, lengthMs: first?.ms ?? 0 };
}

/**
 * How long it is from the start of each step to the end of the run, milliseconds: whoever has more goes first. Looks
 * ahead for limits: the run is scheduled forwards, the longest chain first, and then backwards in the order in which its
 * steps ended, so that a step which leads to a crowded model ranks higher than its chain is long. `ties`: which of two
 * equal steps goes first.
 */
export function stepRanks(graph: PlanGraph, durations: ArrayLike<number>, ties: StepOrder = inPlanOrder): Float64Array {
  const upward = new Float64Array(graph.steps.length);
  let longest = 0;
  for (let step = graph.steps.length - 1; step >= 0; step--) {
    let after = 0;
    for (const dependent of graph.dependents[step]!) after = Math.max(after, upward[dependent]!);
    upward[step] = durations[step]! + after;
    longest = Math.max(longest, upward[step]!);
  }
  const { ms, endsAt } = listSchedule(graph, durations, byRank(upward, ties));
  // No step has to wait for long: there is no better order.
  if (ms <= longest) return upward;
  const lastFirst: StepOrder = (a, b) => endsAt[b]! - endsAt[a]! || ties(b, a);
  return listSchedule(graph, durations, lastFirst, { backwards: true }).endsAt;
}

/** The higher rank first. */
export function byRank(ranks: ArrayLike<number>, ties: StepOrder = inPlanOrder): StepOrder {
  return (a, b) => ranks[b]! - ranks[a]! || ties(a, b);
}

function inPlanOrder(a: number, b: number): number {
  return a - b;
}

/**
 * How long the run takes, in milliseconds, when every step takes `durationMs`, jobs start as the limits allow and the
 * step with the highest rank goes first. `onStart` is told when each step starts, in milliseconds.
 */
export function makespan(
  plan: Plan,
  durationMs: (step: PlanStep) => number,
  limits: JobLimits,
  onStart?: (step: PlanStep, atMs: number) => void,
  /** Steps that hold their slots already. Default none. */
  isRunning: (step: PlanStep) => boolean = () => false,
): number {
  const graph = planGraph(plan, limits);
  const durations = Float64Array.from(plan.steps, durationMs);
  return listSchedule(graph, durations, byRank(stepRanks(graph, durations)), {
    isRunning: (step) => isRunning(plan.steps[step]!),
    ...(onStart && { onStart: (step, atMs) => onStart(plan.steps[step]!, atMs) }),
  }).ms;
}

/** Steps by the step that they need. */
export function dependentsOf(plan: Plan): ReadonlyMap<string, readonly PlanStep[]> {
  const found = new Map<string, PlanStep[]>();
  for (const step of plan.steps) {
    for (const needed of step.needs) {
      const list = found.get(needed);
      if (list === undefined) found.set(needed, [step]);
      else list.push(step);
    }
  }
  return found;
}
