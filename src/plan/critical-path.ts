import type { Plan, PlanStep } from "./plan.ts";

export interface CriticalPath {
  /** Step paths of the longest chain, first step first. */
  readonly path: readonly string[];
  readonly lengthMs: number;
  /** By step path: time from the start of the step to the end of the run, if nothing had to wait. Higher goes first. */
  readonly rank: ReadonlyMap<string, number>;
}

/** The chain of steps that decides how long the run takes when nothing has to wait for a slot. */
export function criticalPath(plan: Plan, durationMs: (step: PlanStep) => number): CriticalPath {
  const rank = new Map<string, number>();
  const longestAfter = new Map<string, { readonly step: string; readonly ms: number }>();
  let first: { readonly step: string; readonly ms: number } | null = null;
  // Every step comes after those it needs, so backwards every rank is final when it is read.
  for (const step of plan.steps.toReversed()) {
    const ms = durationMs(step) + (longestAfter.get(step.path)?.ms ?? 0);
    rank.set(step.path, ms);
    for (const needed of step.needs) {
      const known = longestAfter.get(needed);
      if (known === undefined || known.ms < ms) longestAfter.set(needed, { step: step.path, ms });
    }
    if (first === null || first.ms <= ms) first = { step: step.path, ms };
  }
  const path: string[] = [];
  for (let at = first?.step; at !== undefined; at = longestAfter.get(at)?.step) path.push(at);
  return { path, lengthMs: first?.ms ?? 0, rank };
}
