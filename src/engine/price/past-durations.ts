import type { Families } from "../../families/index.ts";
import type { RunState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";

/** Rough guesses in milliseconds by what a job makes; good enough to say which chain is the longer one. */
const GUESS_MS = { image: 10_000, audio: 8_000, voice: 8_000, video: 90_000 } as const;
const LOCAL_MS = { upload: 500, chat: 5_000, task: 2_000, approve: 0, pick: 0, expand: 0 } as const;

/** What is known of how long jobs take, milliseconds. */
export interface PastDurations {
  /** By model, in earlier runs, from submit to end: the median. */
  readonly medians: ReadonlyMap<string, number>;
  readonly families: Families;
}

export function pastDurations(runs: readonly RunState[], families: Families): PastDurations {
  const taken = new Map<string, number[]>();
  for (const attempt of runs.flatMap((run) => Object.values(run.steps).flatMap((step) => step.attempts))) {
    if (attempt.phase !== "completed" || attempt.model === null) continue;
    if (attempt.submittedAt === null || attempt.completedAt === null) continue;
    const all = taken.get(attempt.model) ?? [];
    all.push(attempt.completedAt - attempt.submittedAt);
    taken.set(attempt.model, all);
  }
  return { medians: new Map([...taken].map(([model, all]) => [model, median(all)])), families };
}

/** What a step is expected to take: as its model did before, else as its family usually does, else a guess. */
export function expectedMs(step: PlanStep, { medians, families }: PastDurations): number {
  if (step.kind !== "job") return LOCAL_MS[step.kind];
  return medians.get(step.model) ?? families.of(step.model)?.typicalMs ?? GUESS_MS[step.yields];
}

/** True when no guess is needed. */
export function isKnown(step: PlanStep, { medians }: PastDurations): boolean {
  return step.kind !== "job" || medians.has(step.model);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}
