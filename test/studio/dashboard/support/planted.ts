import { thisHolder } from "../../../../src/core/journal/host.ts";
import type { LeaseHolder } from "../../../../src/core/journal/store.ts";
import { ownText } from "../../../../src/core/kit/clean-text.ts";
import type { Tags } from "../../../../src/core/kit/tags.ts";
import type { JournalStore, PlanStep, RunEvent } from "../../../../src/index.ts";

/** A step that a test adds to the journal. */
export interface PlantedStep {
  readonly path: string;
  readonly kind?: "job" | "approve";
  readonly model?: string;
  readonly yields?: "image" | "video" | "audio";
  readonly needs?: readonly string[];
  readonly prompt?: string;
  readonly state?: "waiting" | "queued" | "rendering" | "done" | "failed" | "asked";
  /** The file of each output, with its hash in the media store. */
  readonly outputs?: readonly { readonly sha256: string; readonly contentType: string; readonly sizeBytes?: number }[];
  readonly costMicros?: number;
}

export interface PlantedRun {
  readonly id: string;
  readonly pipeline?: string;
  readonly steps: readonly PlantedStep[];
  readonly budgetMicros?: number | null;
  readonly tags?: Tags;
  readonly budgetTag?: string;
  readonly pause?: { readonly reason: "funds" | "approval" | "stopped"; readonly message: string };
  readonly end?: "succeeded" | "failed" | "partial";
  /** The process that drives an active run. Default: this process. */
  readonly driver?: LeaseHolder;
  /** Milliseconds between events. Default 400. */
  readonly tempoMs?: number;
}

/** Adds further events to a planted run. */
export interface Gardener {
  add(...events: readonly RunEvent[]): Promise<void>;
}

const PRICE = 40_000;

/** Writes a run to a journal like an engine: all events in order, with a lease. */
export async function plantRun(journal: JournalStore, run: PlantedRun, from = Date.now() - 60_000): Promise<Gardener> {
  const { id, pipeline = "planted", budgetMicros = 5_000_000 } = run;
  const holder = run.driver ?? thisHolder("test");
  let at = from;
  const plan = { version: 1 as const, pipeline, steps: run.steps.map(planStep), returns: {} };
  await journal.createRun(
    id,
    {
      type: "run.planned",
      program: "1.0.0",
      plan,
      input: {},
      baseUrl: "https://paper.test/v3",
      keyId: "paper",
      nonce: "00",
      budgetMicros,
      maxUnquotedMicros: null,
      limits: { total: 8, perModel: {}, perModality: {} },
      quoteMicros: run.steps.length * PRICE,
      outDir: "/nowhere",
      source: null,
      ...(run.tags && { tags: run.tags }),
      ...(run.budgetTag && { budgetTag: run.budgetTag }),
    },
    at,
  );
  const gardener = async (...events: readonly RunEvent[]) => {
    const taken = await journal.takeLease(id, holder, { at, ttlMs: 30_000, isDead: () => true });
    if (!taken.acquired) throw new Error("the run is held by somebody else");
    let afterSeq = (await journal.run(id))!.lastSeq;
    for (const event of events) {
      at += run.tempoMs ?? 400;
      const done = await journal.commit({
        lease: taken.lease,
        afterSeq,
        at,
        events: [event],
        status: statusAfter(event) ?? (await journal.run(id))!.status,
      });
      if (!done.committed) throw new Error(`not committed: ${done.reason}`);
      afterSeq = done.lastSeq;
    }
    const isUnderWay = (await journal.run(id))!.status === "running";
    // A run that is under way has somebody who drives it, or a lease that a dead process left.
    if (isUnderWay) await journal.renewLease(taken.lease, { at: Date.now(), ttlMs: 3_600_000 });
    else await journal.releaseLease(taken.lease);
  };
  await gardener(...eventsOf(run));
  return { add: gardener };
}

function statusAfter(event: RunEvent): string | null {
  if (event.type === "run.started" || event.type === "run.resumed") return "running";
  if (event.type === "run.paused") return "paused";
  return event.type === "run.finished" ? event.status : null;
}

function planStep(step: PlantedStep): PlanStep {
  const base = { path: step.path, needs: step.needs ?? [], fingerprint: `f1_${step.path}` };
  if (step.kind === "approve") {
    const shows = (step.needs ?? []).map((need) => ({
      $ref: { step: need, as: "asset" as const, output: "all" as const },
    }));
    return { ...base, kind: "approve", shows, choose: true, message: step.prompt ?? null, yields: "image" };
  }
  return {
    ...base,
    kind: "job",
    model: step.model ?? "paint/fast",
    input: { prompt: step.prompt ?? `a picture of ${step.path}` },
    yields: step.yields ?? "image",
    outputs: Math.max(1, step.outputs?.length ?? 1),
    policy: { attempts: 1, maxCostMicros: null, keep: true },
  };
}

function eventsOf(run: PlantedRun): readonly RunEvent[] {
  const quotes = run.steps
    .filter(({ kind }) => kind !== "approve")
    .map(({ path }): RunEvent => ({ type: "job.quoted", step: path, attempt: 1, costMicros: PRICE, basis: "quoted" }));
  const begun = [...quotes, { type: "run.started" } as const, ...run.steps.flatMap(stepEvents)];
  const pause: readonly RunEvent[] =
    run.pause === undefined ? [] : [{ type: "run.paused", ...run.pause, message: ownText(run.pause.message) }];
  const end: readonly RunEvent[] =
    run.end === undefined ? [] : [{ type: "run.finished", status: run.end, message: null }];
  return [...begun, ...pause, ...end];
}

export function stepEvents(step: PlantedStep): readonly RunEvent[] {
  const { path, model = "paint/fast", state = "done", costMicros = PRICE } = step;
  if (state === "waiting") return [];
  const started: RunEvent = { type: "step.started", step: path };
  if (step.kind === "approve") return [started];
  const at = { step: path, attempt: 1 };
  const submitted: readonly RunEvent[] = [
    started,
    {
      type: "job.submit.intended",
      ...at,
      key: `sr1_${path}`,
      model,
      input: { prompt: step.prompt ?? path },
      holdMicros: PRICE,
    },
    { type: "job.submitted", ...at, jobId: `job_${path.replaceAll("/", "_")}`, model, replayed: false },
  ];
  if (state === "queued") return submitted;
  const rendering: readonly RunEvent[] = [...submitted, { type: "job.started", ...at }];
  if (state === "rendering") return rendering;
  if (state === "failed") {
    const error = { code: ownText("INTERNAL"), message: ownText("the renderer gave up"), retryable: false };
    return [
      ...rendering,
      { type: "job.failed", ...at, error },
      { type: "job.settled", ...at, costMicros: 0 },
      { type: "step.finished", step: path, status: "failed", reason: "the renderer gave up" },
    ];
  }
  return [...rendering, ...doneEvents(step, costMicros)];
}

export function doneEvents({ path, outputs = [] }: PlantedStep, costMicros = PRICE): readonly RunEvent[] {
  const at = { step: path, attempt: 1 };
  const facts = outputs.map(({ contentType }, index) => ({
    index,
    status: "COMPLETED" as const,
    assetId: `asset_${path}_${index}`,
    voiceId: null,
    contentType: ownText(contentType),
    width: null,
    height: null,
    durationMs: null,
    fps: null,
    error: null,
  }));
  return [
    { type: "job.completed", ...at, outputs: facts },
    { type: "job.settled", ...at, costMicros },
    ...outputs.map(
      ({ sha256, contentType, sizeBytes = 1000 }, index): RunEvent => ({
        type: "output.downloaded",
        ...at,
        index,
        sha256,
        sizeBytes,
        contentType,
      }),
    ),
    { type: "step.finished", step: path, status: "succeeded", reason: null },
  ];
}
