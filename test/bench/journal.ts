/**
 * What the journal costs, folds and engine left out. The events are those of a step that does nothing, every commit is
 * synced, and all is beside a loop that does no more than write them through node:sqlite, one synced commit a step.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fold } from "../../src/core/journal/events.ts";
import { loadRun, snapshotOf } from "../../src/core/journal/run-repository.ts";
import { openSqliteJournal } from "../../src/core/journal/sqlite.ts";
import { interleaved, type Report } from "./harness.ts";
import { Driver, planned, stepEvents } from "./journal-runs.ts";
import { type Bar, median, ratios } from "./stats.ts";

const STEPS = 2_000;
const RUNS = 20;
const SIZES = [1_000, 10_000, 100_000];
const folder = mkdtempSync(join(tmpdir(), "journal-bench-"));
const newPath = (() => {
  let files = 0;
  return () => join(folder, `${++files}.db`);
})();

async function perSecond(work: () => Promise<void> | void): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (STEPS * 1_000) / (performance.now() - startedAt);
}

/** What a loop without a journal does: one synced row a step. */
function bareLoop(): Promise<number> {
  const db = new DatabaseSync(newPath());
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec("CREATE TABLE events (run INTEGER, seq INTEGER, body TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID");
  const insert = db.prepare("INSERT INTO events VALUES (1, ?, ?)");
  return perSecond(() => {
    for (let step = 0; step < STEPS; step += 1) insert.run(step, JSON.stringify(stepEvents(step)));
  }).finally(() => db.close());
}

async function drivers(count: number) {
  const journal = await openSqliteJournal(newPath());
  const first = planned(1);
  const started = Array.from({ length: count }, (_, index) => Driver.start(journal, `run-${index}`, first));
  return { journal, drivers: await Promise.all(started) };
}

/** A commit with a step's events and nothing else: its results follow a hundred at a time. */
async function alone(): Promise<number> {
  const { journal, drivers: all } = await drivers(1);
  return perSecond(async () => {
    for (let step = 0; step < STEPS; step += 1) await all[0]!.commit(stepEvents(step));
  }).finally(() => journal.close());
}

async function shared(): Promise<number> {
  const { journal, drivers: all } = await drivers(RUNS);
  return perSecond(async () => {
    for (let step = 0; step < STEPS / RUNS; step += 1)
      await Promise.all(all.map((driver) => driver.commit(stepEvents(step))));
  }).finally(() => journal.close());
}

async function batched(): Promise<number> {
  const { journal, drivers: all } = await drivers(1);
  return perSecond(async () => {
    for (let step = 0; step < STEPS; step += 20) await all[0]!.steps(20);
  }).finally(() => journal.close());
}

/** A finished run of so many steps: the bytes of its journal, and how it is loaded in a journal just opened. */
async function finished(steps: number) {
  const path = newPath();
  const journal = await openSqliteJournal(path);
  const driver = await Driver.start(journal, "run", planned(steps));
  await driver.commit([{ type: "run.started" }]);
  for (let done = 0; done < steps; done += 20) await driver.steps(20);
  await driver.commit([{ type: "run.finished", status: "succeeded", message: null }], { status: "succeeded" });
  const events = await timed(() => loadRun(journal, "run"));
  const state = fold(await journal.read("run"))!;
  await driver.commit([], { snapshot: snapshotOf(state), status: "succeeded", park: true });
  const snapshot = await timed(() => loadRun(journal, "run"));
  await journal.close();
  return { size: steps, bytes: statSync(path).size, events, snapshot };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const startedAt = performance.now();
    await work();
    found.push(performance.now() - startedAt);
  }
  return median(found);
}

/** The first one with nothing prepared. */
async function listNewest(): Promise<readonly number[]> {
  const journal = await openSqliteJournal(newPath());
  const first = planned(1);
  for (let done = 0; done < 10_000; done += 500) {
    const ids = Array.from({ length: 500 }, (_, index) => `run-${done + index}`);
    await Promise.all(ids.map((id, index) => journal.createRun(id, first, (done + index) % 777)));
  }
  const found: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const startedAt = performance.now();
    if ((await journal.runs({ limit: 50 })).length !== 50) throw new Error("there are 10,000 runs");
    found.push(performance.now() - startedAt);
  }
  await journal.close();
  return found;
}

export async function measure(report: Report, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  try {
    const rates = await interleaved(quick ? 2 : 5, { bare: bareLoop, alone, shared, batched });
    const show = (name: string, of: keyof typeof rates, bar?: Bar) => {
      report.figure("Journal", name, "steps/s", rates[of]);
      if (of !== "bare") report.figure("Journal", `${name} ÷ bare`, "×", ratios(rates[of], rates.bare), bar);
    };
    show("no envelope node:sqlite, a synced commit a step", "bare");
    show("a commit a step", "alone", { least: 0.7 });
    show(`${RUNS} runs at once, a commit a step each`, "shared", { least: 2 });
    show("20 steps a commit, with results", "batched");
    const runs: Awaited<ReturnType<typeof finished>>[] = [];
    for (const size of quick ? SIZES.slice(0, 2) : SIZES) runs.push(await finished(size));
    const bytes = runs.map((run) => run.bytes / run.size);
    report.figure("Journal", "a step of a finished run, all sizes", "bytes", bytes, { most: 700 });
    report.figure("Journal", "newest 50 of 10,000 runs", "ms", await listNewest(), { most: 10 });
    const points = (of: "events" | "snapshot") => runs.map((run) => ({ size: run.size, value: run[of] }));
    report.curve("Loading a finished run", "from its snapshot", "ms", points("snapshot"), { most: 1.05 });
    report.curve("Loading a finished run", "from its events", "ms", points("events"), { most: 1.05 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
