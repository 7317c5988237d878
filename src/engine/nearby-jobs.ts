import { ApiError, type Client, type JobSummary } from "../api/index.ts";
import type { RunState } from "../journal/state.ts";
import type { ReconcileParts, ReconcileReport } from "./reconcile.ts";

/** Clocks differ, and a submit takes its time: a job made this long before or after a run may be its own. */
const NEAR_MS = 10 * 60_000;

interface Span {
  readonly runId: string;
  readonly from: number;
  readonly to: number;
}

/** The job list of each model around its runs: what is known of it, and what nobody here knows. */
export async function listNearbyJobs(parts: ReconcileParts, states: readonly RunState[]) {
  const { client, known, now, onProgress } = parts;
  const listed = new Map<string, JobSummary>();
  const orphans: ReconcileReport["orphans"][number][] = [];
  const byModel = spansByModel(states, now());
  let done = 0;
  for (const [model, spans] of byModel) {
    onProgress?.({ reading: "job lists", done: done++, total: byModel.size });
    const oldest = Math.min(...spans.map(({ from }) => from));
    for await (const job of jobsOf(client, model, oldest)) {
      const createdAt = Date.parse(job.createdAt ?? "");
      listed.set(job.jobId, job);
      const near = spans.filter(({ from, to }) => createdAt >= from && createdAt <= to);
      if (known.has(job.jobId) || near.length === 0) continue;
      orphans.push({ ...job, nearbyRuns: near.map(({ runId }) => runId) });
    }
  }
  return { listed, orphans };
}

/** Those made since `oldest`, the newest first. Chat models need not be in the catalog: their jobs are then found in the list of all. */
async function* jobsOf(client: Client, model: string, oldest: number): AsyncGenerator<JobSummary, void, undefined> {
  const isOld = ({ createdAt }: JobSummary) => Date.parse(createdAt ?? "") < oldest;
  try {
    for await (const job of client.modelJobs(model)) {
      if (isOld(job)) return;
      yield job;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    for await (const job of client.jobs()) {
      if (isOld(job)) return;
      if (job.model === model) yield job;
    }
  }
}

function spansByModel(states: readonly RunState[], now: number): ReadonlyMap<string, readonly Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { runId, planned, createdAt, finishedAt } of states) {
    const span = { runId, from: createdAt - NEAR_MS, to: (finishedAt ?? now) + NEAR_MS };
    const models = new Set(planned.plan.steps.flatMap((step) => ("model" in step ? [step.model] : [])));
    for (const model of models) spans.set(model, [...(spans.get(model) ?? []), span]);
  }
  return spans;
}
