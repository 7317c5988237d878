import { ApiError, type Client, type JobResult, type JobSummary } from "../api/index.ts";
import type { AttemptState, RunState } from "../journal/state.ts";
import type { JournalStore } from "../journal/store.ts";

/** A job of a run, and which one. */
interface OwnJob {
  readonly runId: string;
  readonly step: string;
  readonly jobId: string;
}

/** What journal, ledger and service tell differently. Each is a candidate: a person looks and decides. */
export interface ReconcileReport {
  /** Runs that were compared. */
  readonly runs: readonly string[];
  /** Jobs at the service, of these runs' models and made while they ran, that no run of the journal knows. */
  readonly orphans: readonly (JobSummary & { readonly nearRuns: readonly string[] })[];
  /** Outputs that were paid for, have no copy here and can still be had. */
  readonly unclaimed: readonly (OwnJob & { readonly index: number; readonly assetId: string | null })[];
  /** Failed jobs that still cost something at the service. */
  readonly missingRefunds: readonly (OwnJob & { readonly costMicros: number })[];
  /** Jobs whose cost at the service is another than the one in the journal. */
  readonly otherCosts: readonly (OwnJob & { readonly journalMicros: number; readonly serviceMicros: number })[];
  /** Runs whose ledger adds up to another sum than their events. */
  readonly ledgers: readonly { readonly runId: string; readonly eventsMicros: number; readonly ledgerMicros: number }[];
  /** Jobs of these runs that the service does not show; nothing can be said about them. */
  readonly unseen: readonly OwnJob[];
}

interface ReconcileParts {
  readonly client: Client;
  readonly store: JournalStore;
  readonly now: () => number;
  /** Job ids of every run on the journal, these runs or not. */
  readonly known: ReadonlySet<string>;
}

/** Clocks differ, and a submit takes its time: a job made this long before or after a run may be its own. */
const NEAR_MS = 10 * 60_000;

/** Compares; changes nothing. Reads the job list of each model as far back as the oldest run, and every job in doubt. */
export async function compareWithService(parts: ReconcileParts, states: readonly RunState[]): Promise<ReconcileReport> {
  const { listed, orphans } = await lookAround(parts, states);
  const report = {
    runs: states.map(({ runId }) => runId),
    orphans,
    unclaimed: [] as ReconcileReport["unclaimed"][number][],
    missingRefunds: [] as ReconcileReport["missingRefunds"][number][],
    otherCosts: [] as ReconcileReport["otherCosts"][number][],
    ledgers: await ledgers(parts.store, states),
    unseen: [] as OwnJob[],
  };
  for (const { own, attempt } of states.flatMap(ownJobs)) {
    const summary = listed.get(own.jobId);
    const missing = withoutCopy(attempt);
    const full = summary === undefined || missing.size > 0 ? await look(parts.client, own.jobId) : null;
    const job = full ?? summary;
    if (job === undefined) {
      report.unseen.push(own);
      continue;
    }
    const { costMicros } = job;
    if (job.status === "FAILED" && costMicros !== null && costMicros > 0)
      report.missingRefunds.push({ ...own, costMicros });
    else if (costMicros !== null && attempt.costMicros !== null && costMicros !== attempt.costMicros)
      report.otherCosts.push({ ...own, journalMicros: attempt.costMicros, serviceMicros: costMicros });
    for (const output of full?.outputs ?? []) {
      const isLive = output.status === "COMPLETED" && output.assetId !== null;
      if (isLive && missing.has(output.index))
        report.unclaimed.push({ ...own, index: output.index, assetId: output.assetId });
    }
  }
  return report;
}

function ownJobs(state: RunState): { readonly own: OwnJob; readonly attempt: AttemptState }[] {
  return Object.values(state.steps).flatMap(({ path, attempts }) =>
    attempts.flatMap((attempt) =>
      attempt.jobId === null ? [] : [{ own: { runId: state.runId, step: path, jobId: attempt.jobId }, attempt }],
    ),
  );
}

/** Indexes of outputs that may be had and are not here; of a job that is not through, whichever it may have. */
function withoutCopy({ phase, outputs }: AttemptState): { readonly size: number; has(index: number): boolean } {
  if (phase === "completed") {
    const copied = outputs.filter(({ phase, copy }) => copy === null && phase !== "kept" && phase !== "failed");
    return new Set(copied.map(({ index }) => index));
  }
  const isOpen = phase === "inQueue" || phase === "inProgress";
  return isOpen ? { size: 1, has: () => true } : new Set<number>();
}

async function look(client: Client, jobId: string): Promise<JobResult | null> {
  try {
    return await client.job(jobId);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

interface Span {
  readonly runId: string;
  readonly from: number;
  readonly to: number;
}

/** The job list of each model around its runs: what is known of it, and what nobody here knows. */
async function lookAround({ client, known, now }: ReconcileParts, states: readonly RunState[]) {
  const listed = new Map<string, JobSummary>();
  const orphans: ReconcileReport["orphans"][number][] = [];
  for (const [model, spans] of spansByModel(states, now())) {
    const oldest = Math.min(...spans.map(({ from }) => from));
    for await (const job of client.modelJobs(model)) {
      const createdAt = Date.parse(job.createdAt ?? "");
      if (createdAt < oldest) break;
      listed.set(job.jobId, job);
      const near = spans.filter(({ from, to }) => createdAt >= from && createdAt <= to);
      if (known.has(job.jobId) || near.length === 0) continue;
      orphans.push({ ...job, nearRuns: near.map(({ runId }) => runId) });
    }
  }
  return { listed, orphans };
}

function spansByModel(states: readonly RunState[], now: number): ReadonlyMap<string, readonly Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { runId, planned, createdAt, finishedAt } of states) {
    const span = { runId, from: createdAt - NEAR_MS, to: (finishedAt ?? now) + NEAR_MS };
    const models = new Set(planned.plan.steps.flatMap((step) => (step.kind === "job" ? [step.model] : [])));
    for (const model of models) spans.set(model, [...(spans.get(model) ?? []), span]);
  }
  return spans;
}

async function ledgers(store: JournalStore, states: readonly RunState[]): Promise<ReconcileReport["ledgers"]> {
  const found: ReconcileReport["ledgers"][number][] = [];
  for (const { runId, spentMicros: eventsMicros } of states) {
    const { settledMicros: ledgerMicros } = await store.ledger(runId);
    if (eventsMicros !== ledgerMicros) found.push({ runId, eventsMicros, ledgerMicros });
  }
  return found;
}
