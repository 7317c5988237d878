import { ApiError, type Client, type JobResult, type JobSummary } from "../../api/index.ts";
import type { AttemptState, RunState } from "../../journal/state.ts";
import type { JournalStore } from "../../journal/store.ts";
import { jobPhases } from "../../lifecycle/index.ts";
import type { PlanStep } from "../../plan/plan.ts";

/** A job created up to this long before or after a run may belong to that run, because clocks differ. */
const NEAR_MS = 10 * 60_000;

interface Span {
  readonly runId: string;
  readonly from: number;
  readonly to: number;
}

export async function listNearbyJobs(parts: ReconcileParts, states: readonly RunState[]) {
  const { client, known, now, onProgress } = parts;
  const listed = new Map<string, JobSummary>();
  const during: ReconcileReport["orphans"][number][] = [];
  const around: ReconcileReport["orphans"][number][] = [];
  const byModel = spansByModel(states, now());
  let done = 0;
  for (const [model, spans] of byModel) {
    onProgress?.({ reading: "job lists", done: done++, total: byModel.size });
    const oldest = Math.min(...spans.map(({ from }) => from - NEAR_MS));
    for await (const job of jobsOf(client, model, oldest)) {
      const createdAt = Date.parse(job.createdAt ?? "");
      listed.set(job.jobId, job);
      const nearby = spans.filter(({ from, to }) => createdAt >= from - NEAR_MS && createdAt <= to + NEAR_MS);
      if (known.has(job.jobId) || nearby.length === 0) continue;
      const isDuring = nearby.some(({ from, to }) => createdAt >= from && createdAt <= to);
      (isDuring ? during : around).push({ ...job, nearbyRuns: nearby.map(({ runId }) => runId) });
    }
  }
  return { listed, orphans: [...during, ...around] };
}

async function* jobsOf(client: Client, model: string, oldest: number): AsyncGenerator<JobSummary, void, undefined> {
  const isOld = ({ createdAt }: JobSummary) => Date.parse(createdAt ?? "") < oldest;
  try {
    for await (const job of client.modelJobs(model)) {
      if (isOld(job)) return;
      yield job;
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    // The service lists no jobs for a model that is not in its catalog, so search the list of all jobs.
    for await (const job of client.jobs()) {
      if (isOld(job)) return;
      if (job.model === model) yield job;
    }
  }
}

function spansByModel(states: readonly RunState[], now: number): ReadonlyMap<string, readonly Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { runId, planned, createdAt, finishedAt } of states) {
    const span = { runId, from: createdAt, to: finishedAt ?? now };
    const models = new Set(planned.plan.steps.flatMap((step) => (isOfService(step) ? [step.model] : [])));
    for (const model of models) spans.set(model, [...(spans.get(model) ?? []), span]);
  }
  return spans;
}

function isOfService(step: PlanStep): step is PlanStep & { readonly model: string } {
  return "model" in step && !("provider" in step);
}

interface OwnJob {
  readonly runId: string;
  readonly step: string;
  readonly jobId: string;
}

/** Differences between the journal, the ledger and the service, for a person to judge. */
export interface ReconcileReport {
  readonly runs: readonly string[];
  /**
   * Jobs that no run in this journal started, although they use a model of one of `runs` and were created during that
   * run or within ten minutes of it. A run in another journal may have started them. Jobs created during a run come
   * first.
   */
  readonly orphans: readonly (JobSummary & { readonly nearbyRuns: readonly string[] })[];
  /** Outputs that were paid for, have no local copy, and can still be downloaded. */
  readonly unclaimed: readonly (OwnJob & { readonly index: number; readonly assetId: string | null })[];
  /** Failed jobs that the service charged and did not refund. */
  readonly missingRefunds: readonly (OwnJob & { readonly costMicros: number })[];
  /** Jobs whose cost in the journal differs from the cost on the service. */
  readonly otherCosts: readonly (OwnJob & { readonly journalMicros: number; readonly serviceMicros: number })[];
  /** Jobs and chats that cost more than was expected when they were sent. */
  readonly overcharges: readonly {
    readonly runId: string;
    readonly step: string;
    readonly jobId: string | null;
    readonly expectedMicros: number;
    readonly chargedMicros: number;
  }[];
  /** Runs whose cost in the ledger differs from the cost in their events. */
  readonly ledgers: readonly { readonly runId: string; readonly eventsMicros: number; readonly ledgerMicros: number }[];
  /** Jobs of the compared runs that the service did not return. */
  readonly unseen: readonly OwnJob[];
  /** Chat requests that the service never answered, each with the maximum that it may have cost. */
  readonly abandonedChats: readonly {
    readonly runId: string;
    readonly step: string;
    readonly model: string;
    /** When the request was sent, as an ISO 8601 timestamp. */
    readonly sentAt: string;
    readonly unconfirmedMicros: number;
  }[];
}

/** Progress of a comparison. First the job lists are read, one per model; then the jobs are compared one by one. */
export interface ReconcileProgress {
  readonly reading: "job lists" | "jobs";
  readonly done: number;
  readonly total: number;
}

export interface ReconcileOptions {
  readonly onProgress?: ((progress: ReconcileProgress) => void) | undefined;
}

export interface ReconcileParts extends ReconcileOptions {
  readonly client: Client;
  readonly store: JournalStore;
  readonly now: () => number;
  /** Ids of the jobs of all runs in the journal, including runs that are not compared. */
  readonly known: ReadonlySet<string>;
}

export async function compareWithService(parts: ReconcileParts, states: readonly RunState[]): Promise<ReconcileReport> {
  const { listed, orphans } = await listNearbyJobs(parts, states);
  const report = {
    runs: states.map(({ runId }) => runId),
    orphans,
    unclaimed: [] as ReconcileReport["unclaimed"][number][],
    missingRefunds: [] as ReconcileReport["missingRefunds"][number][],
    otherCosts: [] as ReconcileReport["otherCosts"][number][],
    overcharges: states.flatMap(overcharges),
    ledgers: await ledgers(parts.store, states),
    unseen: [] as OwnJob[],
    abandonedChats: states.flatMap(abandonedChats),
  };
  const jobs = states.flatMap(ownJobs);
  for (const [done, { own, knownMicros, missing }] of jobs.entries()) {
    parts.onProgress?.({ reading: "jobs", done, total: jobs.length });
    const summary = listed.get(own.jobId);
    const full = summary === undefined || missing.size > 0 ? await readIfAny(parts.client, own.jobId) : null;
    const job = full ?? summary;
    if (job === undefined) {
      report.unseen.push(own);
      continue;
    }
    const { costMicros } = job;
    if (job.status === "FAILED" && costMicros !== null && costMicros > 0)
      report.missingRefunds.push({ ...own, costMicros });
    else if (costMicros !== null && knownMicros !== null && costMicros !== knownMicros)
      report.otherCosts.push({ ...own, journalMicros: knownMicros, serviceMicros: costMicros });
    for (const output of full?.outputs ?? []) {
      const isLive = output.status === "COMPLETED" && output.assetId !== null;
      if (isLive && missing.has(output.index))
        report.unclaimed.push({ ...own, index: output.index, assetId: output.assetId });
    }
  }
  return report;
}

interface Known {
  readonly own: OwnJob;
  readonly knownMicros: number | null;
  readonly missing: { readonly size: number; has(index: number): boolean };
}

function ownJobs({ runId, steps }: RunState): readonly Known[] {
  return Object.values(steps).flatMap(({ path: step, attempts }) =>
    attempts.flatMap((attempt): readonly Known[] => {
      const { jobId, costMicros: knownMicros, provider } = attempt;
      return jobId === null || provider !== undefined
        ? []
        : [{ own: { runId, step, jobId }, knownMicros, missing: withoutCopy(attempt) }];
    }),
  );
}

function abandonedChats({ runId, steps }: RunState): ReconcileReport["abandonedChats"] {
  return Object.values(steps).flatMap(({ path: step, attempts }) => {
    const abandoned = attempts.filter(({ phase }) => phase === "abandoned");
    return abandoned.map(({ model, intendedAt, holdMicros: unconfirmedMicros }) => {
      return { runId, step, model: model!, sentAt: new Date(intendedAt!).toISOString(), unconfirmedMicros };
    });
  });
}

function overcharges({ runId, steps }: RunState): ReconcileReport["overcharges"] {
  return Object.values(steps).flatMap(({ path: step, attempts }) =>
    attempts.flatMap(({ jobId, expectedMicros, costMicros }) =>
      costMicros === null || expectedMicros === null || costMicros <= expectedMicros
        ? []
        : [{ runId, step, jobId, expectedMicros, chargedMicros: costMicros }],
    ),
  );
}

function withoutCopy({ phase, outputs }: AttemptState): Known["missing"] {
  if (phase === "completed") {
    const copied = outputs.filter(({ phase, copy }) => copy === null && phase !== "archived" && phase !== "failed");
    return new Set(copied.map(({ index }) => index));
  }
  // The outputs of an unfinished job are not known yet, so each of them counts as missing.
  return jobPhases.accepted.has(phase) ? { size: 1, has: () => true } : new Set<number>();
}

async function readIfAny(client: Client, jobId: string): Promise<JobResult | null> {
  try {
    return await client.job(jobId);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

async function ledgers(store: JournalStore, states: readonly RunState[]): Promise<ReconcileReport["ledgers"]> {
  const found: ReconcileReport["ledgers"][number][] = [];
  for (const { runId, spentMicros, unconfirmedMicros } of states) {
    const eventsMicros = spentMicros + unconfirmedMicros;
    const { settledMicros: ledgerMicros } = await store.ledger(runId);
    if (eventsMicros !== ledgerMicros) found.push({ runId, eventsMicros, ledgerMicros });
  }
  return found;
}
