import type { Families } from "../../families/index.ts";
import type { RunState } from "../../journal/state.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep } from "../../plan/plan.ts";

/** What is known of how long jobs take, milliseconds. */
export interface PastDurations {
  /** By model, in earlier runs, from submit to end: the median. */
  readonly medians: ReadonlyMap<string, number>;
  readonly families: Families;
}

export function pastDurations(runs: readonly RunState[], families: Families): PastDurations {
  const durationsByModel = new Map<string, number[]>();
  for (const attempt of runs.flatMap((run) => Object.values(run.steps).flatMap((step) => step.attempts))) {
    if (attempt.phase !== "completed" || attempt.model === null) continue;
    if (attempt.submittedAt === null || attempt.completedAt === null) continue;
    const all = durationsByModel.get(attempt.model) ?? [];
    all.push(attempt.completedAt - attempt.submittedAt);
    durationsByModel.set(attempt.model, all);
  }
  return { medians: new Map([...durationsByModel].map(([model, all]) => [model, median(all)])), families };
}

/** What a step is expected to take: as its model did before, else as its family usually does, else a guess. */
export function expectedMs(step: PlanStep, { medians, families }: PastDurations): number {
  const { typicalMs } = traitsOf(step);
  if (!("model" in step)) return typicalMs;
  return medians.get(step.model) ?? families.of(step.model)?.typicalMs ?? typicalMs;
}

/** True when no guess is needed. */
export function isKnown(step: PlanStep, { medians }: PastDurations): boolean {
  return traitsOf(step).pricing.by !== "quote" || !("model" in step) || medians.has(step.model);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
