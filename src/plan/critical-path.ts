import type { Plan, PlanStep } from "./plan.ts";

export interface CriticalPath {
  /** Paths of the longest chain, in order. */
  readonly path: readonly string[];
  readonly lengthMs: number;
  /** Milliseconds from a step's start to the end of the run: the scheduling priority. */
  readonly rank: ReadonlyMap<string, number>;
}

/** The chain of steps that decides how long the run takes at least. */
export function criticalPath(plan: Plan, durationMs: (step: PlanStep) => number): CriticalPath {
  const rank = new Map<string, number>();
  const following = new Map<string, string>();
  for (const step of plan.steps.toReversed()) {
    const mine = (rank.get(step.path) ?? 0) + durationMs(step);
    rank.set(step.path, mine);
    for (const need of step.needs) {
      if (mine <= (rank.get(need) ?? 0)) continue;
      rank.set(need, mine);
      following.set(need, step.path);
    }
  }
  let head: string | undefined;
  for (const [path, length] of rank) if (head === undefined || length > rank.get(head)!) head = path;
  const path: string[] = [];
  for (let at = head; at !== undefined; at = following.get(at)) path.push(at);
  return { path, lengthMs: head === undefined ? 0 : rank.get(head)!, rank };
}
