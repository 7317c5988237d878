import type { Drift, Problem, RunState, Showrunner } from "../../internal.ts";
import type { LoadedPipeline } from "../load/pipeline-file.ts";

/** A step of a run that the code of now would make again, or differently, or not at all. */
export interface CheckedStep {
  readonly path: string;
  /** `changed`: asks for something else. `new`: was not planned. `uses`: takes in one of those. `gone`: is no longer planned. */
  readonly cause: "changed" | "new" | "uses" | "gone";
  /** Fields of the request that differ. */
  readonly fields: Drift["changed"][number]["fields"];
  /** Micro-dollars of making it; null where the service cannot say, or nothing is made. */
  readonly costMicros: number | null;
}

/** A run that is under way, held against the code of now. */
export interface CheckedRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: string;
  /** Nothing would be made again, or differently. */
  readonly isSame: boolean;
  readonly steps: readonly CheckedStep[];
  /** Why the code cannot continue it at all. */
  readonly problems: readonly Problem[];
  /** Of the steps, micro-dollars; `max` is null when one is open-ended. */
  readonly totalMicros: Drift["totalMicros"];
}

export interface Checked {
  readonly runs: readonly CheckedRun[];
  /** Runs under way of pipelines that were not given. */
  readonly others: number;
}

/** Compares every run under way with the pipeline of its name. Sends nothing that costs, and writes nothing down. */
export async function checkRuns(show: Showrunner, pipelines: readonly LoadedPipeline[]): Promise<Checked> {
  const byName = new Map(pipelines.map(({ pipeline }) => [pipeline.name, pipeline]));
  const { isRunFinal } = await import("../../internal.ts");
  // A run that nobody drives now is `interrupted`, which is no status of a journal.
  const open = (await show.runs()).filter(({ status }) => !isRunFinal(status as RunState["status"]));
  const runs: CheckedRun[] = [];
  for (const { runId, pipeline: name, status } of open) {
    const pipeline = byName.get(name);
    if (pipeline === undefined) continue;
    const drift = await show.drift(runId, pipeline, { anyAccount: true });
    const { problems, totalMicros } = drift;
    const steps = stepsOf(drift);
    const isSame = steps.length === 0 && problems.length === 0;
    runs.push({ runId, pipeline: name, status, isSame, steps, problems, totalMicros });
  }
  return { runs, others: open.length - runs.length };
}

function stepsOf({ changed, added, removed, stale, prices }: Drift): readonly CheckedStep[] {
  const fields = new Map(changed.map((one) => [one.path, one.fields]));
  const isNew = new Set(added);
  const costs = new Map(prices.map(({ step, costMicros }) => [step, costMicros]));
  const again = stale.map((path): CheckedStep => {
    const cause = fields.has(path) ? "changed" : isNew.has(path) ? "new" : "uses";
    return { path, cause, fields: fields.get(path) ?? [], costMicros: costs.get(path) ?? null };
  });
  return [...again, ...removed.map((path): CheckedStep => ({ path, cause: "gone", fields: [], costMicros: null }))];
}
