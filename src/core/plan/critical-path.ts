import type { Plan, PlanStep } from "./plan.ts";
import { type JobLimits, slotsOf } from "./slots.ts";

export type DurationMs = (step: PlanStep) => number;

export interface CriticalPath {
  readonly path: readonly string[];
  readonly lengthMs: number;
}

export function criticalPath(plan: Plan, durationMs: DurationMs): CriticalPath {
  const lengths = chainLengths(plan, durationMs);
  const users = dependentsOf(plan);
  const longestOf = (steps: readonly PlanStep[]) =>
    steps.reduce<PlanStep | undefined>((longest, step) => {
      return longest === undefined || lengths.get(step.path)! > lengths.get(longest.path)! ? step : longest;
    }, undefined);
  const first = longestOf(plan.steps);
  const path: string[] = [];
  for (let step = first; step !== undefined; step = longestOf(users.get(step.path) ?? [])) path.push(step.path);
  return { path, lengthMs: first === undefined ? 0 : lengths.get(first.path)! };
}

/** Maps each step's path to the duration, in milliseconds, of the longest chain that begins with it. */
export function chainLengths({ steps }: Plan, durationMs: DurationMs): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  const after = new Map<string, number>();
  // Users come after the steps that they need, so in reverse order each sum is final when it is read.
  for (const step of steps.toReversed()) {
    const ms = durationMs(step) + (after.get(step.path) ?? 0);
    lengths.set(step.path, ms);
    for (const needed of step.needs) after.set(needed, Math.max(ms, after.get(needed) ?? 0));
  }
  return lengths;
}

export function expectedSpanMs(plan: Plan, durationMs: DurationMs, limits: JobLimits): number {
  const busyMs = new Map<string, number>();
  for (const step of plan.steps) {
    const ms = durationMs(step);
    for (const [slot, limit] of slotsOf(step, limits)) busyMs.set(slot, (busyMs.get(slot) ?? 0) + ms / limit);
  }
  let span = criticalPath(plan, durationMs).lengthMs;
  for (const ms of busyMs.values()) span = Math.max(span, ms);
  return Math.ceil(span);
}

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
