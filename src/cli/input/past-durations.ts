import type { Showrunner } from "../../index.ts";

/** Runs that are looked at, the newest first. */
const REMEMBERED_RUNS = 10;

/** How long models took in the newest runs of this journal: the median from submit to end, milliseconds. */
export async function pastMedians(show: Showrunner): Promise<ReadonlyMap<string, number>> {
  const durationsByModel = new Map<string, number[]>();
  for (const { runId } of (await show.runs()).slice(0, REMEMBERED_RUNS)) {
    for (const { model, status, attempts, started_at: from, finished_at: to } of (await show.show(runId)).steps) {
      if (model === null || status !== "succeeded" || attempts.length !== 1 || from === null || to === null) continue;
      durationsByModel.set(model, [...(durationsByModel.get(model) ?? []), Date.parse(to) - Date.parse(from)]);
    }
  }
  return new Map([...durationsByModel].map(([model, all]) => [model, median(all)]));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
