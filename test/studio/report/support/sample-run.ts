import { fold } from "../../../../src/core/journal/events.ts";
import { ownText } from "../../../../src/core/kit/clean-text.ts";
import type { JobStep } from "../../../../src/core/plan/kinds/job.ts";
import type { UploadStep } from "../../../../src/core/plan/kinds/upload.ts";
import { runDocument } from "../../../../src/core/view/run-document.ts";
import { RunView } from "../../../../src/core/view/run-view.ts";
import type { Json, Plan, PlanStep, RunDocument, RunEvent, StoredEvent } from "../../../../src/index.ts";

const start = Date.UTC(2030, 0, 1, 9);

export function jobStep(
  path: string,
  needs: readonly string[] = [],
  input: { readonly [name: string]: Json } = {},
): JobStep {
  const refs = Object.fromEntries(
    needs.map((need) => [need, { $ref: { step: need, as: "asset", output: 0, kind: "image" } } as const]),
  );
  return {
    kind: "job",
    path,
    needs,
    fingerprint: `f1_${path}`,
    model: path.startsWith("shot") ? "video-1" : "image-1",
    input: { prompt: `a picture of ${path}`, ...refs, ...input },
    yields: path.startsWith("shot") ? "video" : "image",
    outputs: 1,
    policy: { attempts: 1, maxCostMicros: null, keep: true } as JobStep["policy"],
  };
}

export function uploadStep(path: string): UploadStep {
  return {
    kind: "upload",
    path,
    needs: [],
    fingerprint: `f1_${path}`,
    yields: "audio",
    file: { path: `/media/${path}.wav`, sha256: "0".repeat(64), sizeBytes: 1200, contentType: "audio/wav" },
  };
}

/** A run whose events a test adds one by one; `at` increases automatically. */
export class SampleRun {
  readonly id: string;
  readonly events: StoredEvent[] = [];
  now = start;
  readonly #submits = new Map<string, number>();

  constructor(
    steps: readonly PlanStep[],
    options: { readonly id?: string; readonly outDir?: string; readonly pipeline?: string } = {},
  ) {
    this.id = options.id ?? "sample";
    const plan = { version: 1, pipeline: options.pipeline ?? "sample-film", steps, returns: {} } as unknown as Plan;
    this.add({
      type: "run.planned",
      program: "1.0.0",
      plan,
      input: { title: "Harbour" },
      baseUrl: "https://api.test/v3",
      keyId: "k",
      nonce: "n",
      budgetMicros: 5_000_000,
      maxUnquotedMicros: null,
      limits: { total: 8, perModel: {}, perModality: {} },
      quoteMicros: steps.filter(({ kind }) => kind === "job").length * 50_000,
      outDir: options.outDir ?? "/nowhere/out",
      source: { file: "/pipelines/film.ts", exportName: "default" },
    });
  }

  add(...events: readonly RunEvent[]): this {
    for (const event of events) {
      this.events.push({ runId: this.id, seq: this.events.length + 1, at: this.now, version: 1, event });
    }
    return this;
  }

  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  start(): this {
    return this.add({ type: "lease.acquired", epoch: 1, holder: "h", program: "1.0.0" }, { type: "run.started" });
  }

  intend(step: string, attempt = 1, input: Json = {}): this {
    if (attempt === 1) {
      this.add(
        { type: "job.quoted", step, attempt, costMicros: 50_000, basis: "quoted" },
        { type: "step.started", step },
      );
    }
    const key = `sr1_${step}_${attempt}`;
    return this.add({ type: "job.submit.intended", step, attempt, key, model: "image-1", input, holdMicros: 50_000 });
  }

  submit(step: string, attempt = 1): this {
    const jobId = `job_${step}_${attempt}`;
    this.#submits.set(step, this.lastAttempt(step) + 1);
    return this.intend(step, attempt).add({
      type: "job.submitted",
      step,
      attempt,
      jobId,
      model: "image-1",
      replayed: false,
    });
  }

  /** Adds a further attempt at the same price. */
  submitAgain(step: string, attempt = 2): this {
    return this.add({ type: "job.quoted", step, attempt, costMicros: 50_000, basis: "quoted" }).submit(step, attempt);
  }

  lastAttempt(step: string): number {
    return this.#submits.get(step) ?? 0;
  }

  begin(step: string, attempt = 1): this {
    return this.add({ type: "job.started", step, attempt });
  }

  fail(step: string, attempt: number, message: string): this {
    const error = { code: ownText("INTERNAL"), message: ownText(message), retryable: true };
    return this.add(
      { type: "job.failed", step, attempt, error },
      { type: "job.settled", step, attempt, costMicros: 0 },
    );
  }

  complete(step: string, attempt = 1, costMicros = 50_000): this {
    const output = {
      index: 0,
      status: "COMPLETED",
      assetId: `asset_${step}`,
      voiceId: null,
      contentType: ownText("image/png"),
      width: 64,
      height: 48,
      durationMs: null,
      fps: null,
      error: null,
    } as const;
    return this.add(
      { type: "job.completed", step, attempt, outputs: [output] },
      { type: "job.settled", step, attempt, costMicros },
      { type: "step.finished", step, status: "succeeded", reason: null },
    );
  }

  download(step: string, attempt = 1, sha256 = "ab".repeat(32)): this {
    return this.add({
      type: "output.downloaded",
      step,
      attempt,
      index: 0,
      sha256,
      sizeBytes: 900,
      contentType: "image/png",
    });
  }

  place(step: string, name: string, file: string): this {
    return this.add({ type: "file.placed", name, step, index: 0, file });
  }

  finish(status: "succeeded" | "partial" | "failed" = "succeeded", message: string | null = null): this {
    return this.add({ type: "run.finished", status, message });
  }

  report(): RunDocument {
    const state = fold(this.events);
    if (state === null) throw new Error("a run has at least its plan");
    return runDocument(new RunView(state));
  }

  /** The part of a Showrunner that `writeReport` uses. */
  show() {
    const events = this.events;
    return {
      show: async () => this.report(),
      events: async function* () {
        yield* events;
      },
    };
  }
}

/** A run with a thousand steps: pictures and a shot of each, eight in parallel. Some are tried twice, with a night between. */
export function bigRun(pairs = 500): SampleRun {
  const pictures = Array.from({ length: pairs }, (_, at) => jobStep(`picture-${at}`));
  const shots = pictures.map(({ path }, at) => jobStep(`shot-${at}`, [path]));
  const run = new SampleRun([...pictures, ...shots]).start();
  const all = [...pictures, ...shots].map(({ path }) => path);
  for (let at = 0; at < all.length; at += 8) {
    const wave = all.slice(at, at + 8);
    for (const path of wave) run.wait(20).submit(path);
    for (const path of wave) run.wait(300).begin(path);
    for (const [index, path] of wave.entries()) {
      run.wait(400 + 90 * index);
      if (index === 5 && at % 80 === 0)
        run.fail(path, 1, "a worker was lost").wait(900).submitAgain(path).wait(700).complete(path, 2);
      else run.complete(path);
    }
    for (const path of wave) run.wait(15).download(path, run.lastAttempt(path));
    if (at === 400) {
      run.add({
        type: "run.paused",
        reason: "funds",
        message: ownText("The wallet holds $0.01, the next job costs $0.05."),
      });
      run.wait(9 * 3_600_000).add({ type: "run.resumed" });
    }
  }
  return run.finish();
}
