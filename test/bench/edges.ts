/**
 * What people see of large runs, by processor time. Each run is written into a journal as an engine would have: layers of 100
 * jobs with two parents each, one output apiece, a tenth returned.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stepTable } from "../../src/cli/commands/show.ts";
import { LiveRun, renderTree } from "../../src/cli/live/tree.ts";
import { createClient } from "../../src/core/api/index.ts";
import { openMediaStore } from "../../src/core/engine/media/folder-store.ts";
import { apply, newRun } from "../../src/core/journal/events.ts";
import { thisHolder } from "../../src/core/journal/host.ts";
import { snapshotOf } from "../../src/core/journal/run-repository.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import type { JournalStore } from "../../src/core/journal/store.ts";
import { ownText } from "../../src/core/kit/clean-text.ts";
import type { JobStep } from "../../src/core/plan/kinds/job.ts";
import type { Json } from "../../src/core/plan/plan.ts";
import { openShowrunner, type Plan, type RunEvent, type Showrunner } from "../../src/index.ts";
import { startDashboard, writeReport } from "../../src/studio/dashboard/index.ts";
import type { Report } from "./harness.ts";

interface Measured {
  readonly what: string;
  readonly steps: number;
  readonly cpuMs: number;
  /** What was written or sent, where that is the point. */
  readonly bytes?: number;
}

const LAYER = 100;
const EVENTS_A_COMMIT = 10_000;
const RUN = "large";

/** A journal with one run of so many steps, and what reads it. */
class LargeRun implements AsyncDisposable {
  readonly folder: string;
  readonly steps: number;
  readonly journal: JournalStore;

  private constructor(folder: string, steps: number, journal: JournalStore) {
    this.folder = folder;
    this.steps = steps;
    this.journal = journal;
  }

  static async write(steps: number): Promise<LargeRun> {
    const folder = mkdtempSync(join(tmpdir(), "edges-"));
    const journal = await openSqliteJournal(join(folder, "journal.db"));
    await plantRun(journal, steps, join(folder, "out"));
    return new LargeRun(folder, steps, journal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.journal.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Over a service that nobody asks. */
  async open(): Promise<Showrunner & AsyncDisposable> {
    const client = createClient({ baseUrl: "http://127.0.0.1:9/v3", apiKey: "bench:none" });
    const show = await openShowrunner({ client, journal: this.journal, mediaDir: join(this.folder, "media") });
    return Object.assign(show, { [Symbol.asyncDispose]: () => show.close() });
  }
}

function jobStep(index: number): JobStep {
  const layer = Math.floor(index / LAYER);
  const parents = layer === 0 ? [] : [index - LAYER, layer * LAYER - LAYER + ((index + 1) % LAYER)];
  const images = parents.map(
    (parent): Json => ({ $ref: { step: nameOf(parent), as: "asset", output: 0, kind: "image" } }),
  );
  return {
    ...{ kind: "job", path: nameOf(index), needs: parents.map(nameOf), fingerprint: `f1_${index}`, model: "image-1" },
    ...{ input: { prompt: `a lighthouse in the fog, seen from boat ${index}`, images }, yields: "image", outputs: 1 },
    policy: { attempts: 1, maxCostMicros: null, keep: true } as JobStep["policy"],
  };
}

function nameOf(index: number): string {
  return `layer-${Math.floor(index / LAYER)}/shot-${index % LAYER}`;
}

function* eventsOf(count: number): Generator<RunEvent> {
  yield { type: "run.started" };
  for (let index = 0; index < count; index += 1) {
    const step = nameOf(index);
    const at = { step, attempt: 1 };
    const sha256 = index.toString(16).padStart(64, "0");
    yield { type: "job.quoted", ...at, costMicros: 40_000, basis: "quoted" };
    yield { type: "step.started", step };
    const input = { prompt: `a lighthouse in the fog, seen from boat ${index}` };
    yield { type: "job.submit.intended", ...at, key: `sr1_${sha256}`, model: "image-1", input, holdMicros: 40_000 };
    yield { type: "job.submitted", ...at, jobId: `job_${index}`, model: "image-1", replayed: false };
    const facts = { width: 640, height: 480, durationMs: null, fps: null, error: null } as const;
    const output = { index: 0, status: "COMPLETED", assetId: `asset_${index}`, voiceId: null, ...facts } as const;
    yield { type: "job.completed", ...at, outputs: [{ ...output, contentType: ownText("image/png") }] };
    yield { type: "job.settled", ...at, costMicros: 40_000 };
    yield { type: "output.downloaded", ...at, index: 0, sha256, sizeBytes: 1000, contentType: "image/png" };
    yield { type: "step.finished", step, status: "succeeded", reason: null };
  }
  for (let index = 0; index < count; index += 10) {
    yield { type: "file.placed", name: nameOf(index), step: nameOf(index), index: 0, file: `${nameOf(index)}.png` };
  }
  yield { type: "run.finished", status: "succeeded", message: null };
}

async function plantRun(journal: JournalStore, count: number, outDir: string): Promise<void> {
  const plan: Plan = {
    version: 1,
    pipeline: "bench",
    steps: Array.from({ length: count }, (_, at) => jobStep(at)),
    returns: {},
  };
  let at = Date.now() - 3_600_000;
  const planned = {
    type: "run.planned",
    program: "1.0.0",
    ...{ plan, input: {}, baseUrl: "http://127.0.0.1:9/v3", keyId: "bench", nonce: "00" },
    ...{ budgetMicros: null, maxUnquotedMicros: null, limits: { total: 100, perModel: {}, perModality: {} } },
    ...{ quoteMicros: count * 40_000, outDir, source: null },
  } as const;
  await journal.createRun(RUN, planned, at);
  const outcome = await journal.takeLease(RUN, thisHolder("bench"), { at, ttlMs: 3_600_000, isDead: () => true });
  if (!outcome.acquired) throw new Error("the lease of a new run is free");
  const state = newRun(RUN, planned, at);
  for (const stored of await journal.read(RUN, { afterSeq: 1 })) apply(state, stored);
  let batch: RunEvent[] = [];
  const commit = async (isLast: boolean) => {
    const afterSeq = state.seq - batch.length;
    const snapshot = snapshotOf(state);
    const commit = {
      lease: outcome.lease,
      afterSeq,
      at,
      events: batch,
      status: state.status,
      ...(isLast && { snapshot }),
    };
    const done = await journal.commit(commit);
    if (!done.committed) throw new Error(`not committed: ${done.reason}`);
    batch = [];
  };
  for (const event of eventsOf(count)) {
    at += 20;
    apply(state, { runId: RUN, seq: state.seq + 1, at, version: 1, event });
    batch.push(event);
    if (batch.length === EVENTS_A_COMMIT) await commit(false);
  }
  await commit(true);
  await journal.releaseLease(outcome.lease);
}

async function cpuOf<T>(work: () => Promise<T> | T): Promise<{ readonly cpuMs: number; readonly result: T }> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000, result };
}

/** The facts and the table of `showrunner show`. */
async function measureShow(run: LargeRun): Promise<readonly Measured[]> {
  await using show = await run.open();
  const { cpuMs, result } = await cpuOf(async () => stepTable(await show.show(RUN), 120));
  const json = await cpuOf(async () => JSON.stringify(await show.show(RUN)).length);
  return [
    { what: "show", steps: run.steps, cpuMs, bytes: result.length },
    { what: "show --json", steps: run.steps, cpuMs: json.cpuMs, bytes: json.result },
  ];
}

async function measureReport(run: LargeRun): Promise<readonly Measured[]> {
  await using show = await run.open();
  const file = join(run.folder, "report.html");
  const options = { file, mediaDir: join(run.folder, "media"), writtenAt: Date.now(), version: "bench" };
  const { cpuMs, result } = await cpuOf(() => writeReport(show, RUN, options));
  return [{ what: "report", steps: run.steps, cpuMs, bytes: result.sizeBytes }];
}

/** What the page gets first, and what one more event of the run brings it. */
async function measureDashboard(run: LargeRun): Promise<readonly Measured[]> {
  await using show = await run.open();
  const media = await openMediaStore(join(run.folder, "media"));
  const token = "a-token-of-the-bench";
  const dashboard = await startDashboard({ show, journal: run.journal, media, token });
  try {
    const cookie = (await fetch(dashboard.url)).headers.getSetCookie()[0]!.split(";")[0]!;
    const get = async (path: string) =>
      (await (await fetch(`${dashboard.origin}${path}`, { headers: { cookie } })).arrayBuffer()).byteLength;
    const first = await cpuOf(() => get(`/api/runs/${RUN}`));
    const again = await cpuOf(() => get(`/api/runs/${RUN}`));
    const list = await cpuOf(() => get("/api/runs"));
    return [
      { what: "dashboard, first picture", steps: run.steps, cpuMs: first.cpuMs, bytes: first.result },
      { what: "dashboard, again", steps: run.steps, cpuMs: again.cpuMs, bytes: again.result },
      { what: "dashboard, list of runs", steps: run.steps, cpuMs: list.cpuMs, bytes: list.result },
    ];
  } finally {
    await dashboard.close();
  }
}

const FRAME_EVENTS = 20;

/** The live terminal, as it follows the last 2,000 events of the run and draws a picture every 20 of them. */
async function measureLive(run: LargeRun): Promise<readonly Measured[]> {
  const events = await run.journal.read(RUN);
  const live = new LiveRun();
  const last = Math.max(1, events.length - 2000);
  for (const event of events.slice(0, last)) live.add(event);
  const options = { now: Date.now(), width: 120, height: 40, paint: (_: unknown, text: string) => text } as const;
  const { cpuMs } = await cpuOf(() => {
    for (const event of events.slice(last)) live.add(event);
  });
  const drawn = await cpuOf(() => {
    for (let frame = 0; frame < 2000 / FRAME_EVENTS; frame += 1) renderTree(live, options);
  });
  return [
    { what: "live terminal, 2,000 events", steps: run.steps, cpuMs },
    { what: "live terminal, 100 pictures", steps: run.steps, cpuMs: drawn.cpuMs },
  ];
}

const MOST_FILES = 10_000;
const CONTENTS = 20;

/** As many named files as steps, of a few contents, with what it takes to copy as many sources into the media store. */
async function measureFiles(run: LargeRun): Promise<readonly Measured[]> {
  if (run.steps > MOST_FILES) return [];
  const media = await openMediaStore(join(run.folder, "media"));
  const sources = Array.from({ length: run.steps }, (_, at) => ({ bytes: Buffer.from(`picture ${at}`) }));
  const copied = await cpuOf(() => Promise.all(sources.map((source) => media.put(source))));
  const files = copied.result.map((_, at) => {
    return { sha256: copied.result[at % CONTENTS]!.sha256, name: `scene/shot-${at}.png` };
  });
  const placed = await cpuOf(() => media.place(files, join(run.folder, "out"), "bench"));
  return [
    { what: "files copied into the store", steps: run.steps, cpuMs: copied.cpuMs },
    { what: "named files placed", steps: run.steps, cpuMs: placed.cpuMs },
  ];
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const rows = new Map<string, { size: number; value: number }[]>();
  // The smallest run only warms up.
  for (const steps of [200, ...(quick ? [500, 1_000] : [1_000, 10_000])]) {
    await using run = await LargeRun.write(steps);
    for (const reader of [measureShow, measureReport, measureDashboard, measureLive, measureFiles]) {
      for (const { what, cpuMs, bytes } of await reader(run)) {
        if (steps === 200) continue;
        const noted = (name: string, value: number) =>
          void rows.set(name, [...(rows.get(name) ?? []), { size: steps, value }]);
        noted(what, cpuMs);
        if (bytes !== undefined) noted(`${what}, kB`, bytes / 1000);
      }
    }
  }
  for (const [name, points] of rows) {
    const isSize = name.endsWith(", kB");
    const group = "Large runs of jobs: processor time of what people see, and its size";
    report.curve(group, isSize ? name.slice(0, -", kB".length) : name, isSize ? "kB" : "ms", points);
  }
}
