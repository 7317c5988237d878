import type { PlanStep, Showrunner } from "../../index.ts";

/** Runs that are looked at, the newest first. */
const REMEMBERED_RUNS = 10;
/** What local steps take, milliseconds; a person's decision is not waited for. */
const LOCAL_MS = { upload: 500, task: 2_000, approve: 0, pick: 0, expand: 0 } as const;

/** How long models took in the newest runs of this journal: the median from submit to end, milliseconds. */
export async function pastMedians(show: Showrunner): Promise<ReadonlyMap<string, number>> {
  const taken = new Map<string, number[]>();
  for (const { runId } of (await show.runs()).slice(0, REMEMBERED_RUNS)) {
    for (const { model, status, attempts, started_at: from, finished_at: to } of (await show.show(runId)).steps) {
      if (model === null || status !== "succeeded" || attempts.length !== 1 || from === null || to === null) continue;
      taken.set(model, [...(taken.get(model) ?? []), Date.parse(to) - Date.parse(from)]);
    }
  }
  return new Map([...taken].map(([model, all]) => [model, median(all)]));
}

/** What a step is expected to take, milliseconds; null where its model has not run here yet. */
export function expectedMs(step: PlanStep, medians: ReadonlyMap<string, number>): number | null {
  return step.kind === "job" || step.kind === "chat" ? (medians.get(step.model) ?? null) : LOCAL_MS[step.kind];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
