/**
 * How fast the SQLite journal is, folds left out: `node bench/journal.ts [folder]`. The folder says which disk; default
 * the system's own for temporary files. Every commit is synced, so the plain append-and-fsync of a file is measured in
 * the same run, as what the disk itself allows. Fails when batches or concurrent commits do not pay, or when listing
 * the newest 50 of 10,000 runs takes 10 ms or more.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../src/journal/events.ts";
import { createMemoryJournal } from "../src/journal/memory.ts";
import { openSqliteJournal } from "../src/journal/sqlite.ts";
import type { JournalStore, Lease } from "../src/journal/store.ts";

const roundMs = 1_500;
const rounds = 3;
const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), "journal-bench-"));

const event: RunEvent = {
  type: "job.submit.intended",
  step: "scenes/12/video",
  attempt: 1,
  key: "sr1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  model: "video-1",
  input: { prompt: "a lighthouse in the fog, seen from a boat", duration_ms: 5000, aspect_ratio: "16:9" },
  holdMicros: 250_000,
};

function planned(): RunEvent & { readonly type: "run.planned" } {
  return {
    ...{ type: "run.planned", plan: { version: 1, pipeline: "bench", steps: [], returns: {} }, input: {} },
    ...{ baseUrl: "http://127.0.0.1/v3", keyId: "key_1", nonce: "n", budgetMicros: null, maxUnquotedMicros: null },
    ...{ limits: { total: 8, perModel: {}, perModality: {} }, quoteMicros: null, outDir: ".", source: null },
  };
}

/** A run of its own that this bench drives. */
class Driver {
  readonly #journal: JournalStore;
  readonly #lease: Lease;
  #seq = 2;

  constructor(journal: JournalStore, lease: Lease) {
    this.#journal = journal;
    this.#lease = lease;
  }

  static async start(journal: JournalStore, runId: string): Promise<Driver> {
    await journal.createRun(runId, planned(), 1);
    const holder = { host: "h", bootId: "b", pid: 1, processStart: "s", instance: "bench" };
    const outcome = await journal.takeLease(runId, holder, { at: 1, ttlMs: 1e9, isDead: () => false });
    if (!outcome.acquired) throw new Error("the lease of a new run is free");
    return new Driver(journal, outcome.lease);
  }

  async commit(count: number): Promise<number> {
    const events = Array.from({ length: count }, () => event);
    const commit = { lease: this.#lease, afterSeq: this.#seq, at: 1, events, status: "running" };
    const outcome = await this.#journal.commit(commit);
    if (!outcome.committed) throw new Error("nobody else writes this run");
    this.#seq = outcome.lastSeq;
    return count;
  }
}

/** Things per second: the median of a few rounds. */
async function rate(work: () => Promise<number> | number): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let done = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < roundMs) done += await work();
    found.push((done * 1_000) / (performance.now() - startedAt));
  }
  return found.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
}

function appendAndSync(): Promise<number> {
  const file = openSync(join(folder, "plain"), "a");
  const line = Buffer.from(`${JSON.stringify(event)}\n`);
  const work = () => {
    writeSync(file, line);
    fsyncSync(file);
    return 1;
  };
  return rate(work).finally(() => closeSync(file));
}

async function measure(): Promise<boolean> {
  const plain = await appendAndSync();
  const journal = await openSqliteJournal(join(folder, "journal.db"));
  const drivers = await Promise.all(Array.from({ length: 64 }, (_, index) => Driver.start(journal, `run-${index}`)));
  const [first] = drivers;
  if (first === undefined) throw new Error("there are drivers");
  const single = await rate(() => first.commit(1));
  const batched = await rate(() => first.commit(20));
  const all = () => Promise.all(drivers.map((driver) => driver.commit(1)));
  const grouped = await rate(async () => (await all()).length);
  const memoryDriver = await Driver.start(createMemoryJournal(), "run");
  const memory = await rate(() => memoryDriver.commit(1));
  const events = await journal.read("run-0");
  const readStartedAt = performance.now();
  await journal.read("run-0");
  const read = (events.length * 1_000) / (performance.now() - readStartedAt);

  const show = (name: string, value: number, note = "") => {
    console.log(`${name.padEnd(44)} ${Math.round(value).toLocaleString("en").padStart(9)} /s  ${note}`);
  };
  show("file append + fsync", plain, "what the disk allows, one by one");
  show("events, one a commit", single, `${(single / plain).toFixed(2)} times the plain file`);
  show("events, 20 a commit", batched, `${(batched / single).toFixed(1)} times one by one`);
  show("events, one a commit, 64 runs at once", grouped, `${(grouped / single).toFixed(1)} times one by one`);
  show("events, one a commit, in memory", memory, `${(memory / single).toFixed(1)} times SQLite`);
  show(`events read back (${events.length.toLocaleString("en")})`, read);
  const listMs = await listNewest(journal);
  console.log(`newest 50 of 10,000 runs: ${listMs.toFixed(2)} ms`);
  await journal.close();
  return batched > 3 * single && grouped > 1.5 * single && listMs < 10;
}

/** Slowest of ten, the first one with nothing prepared. */
async function listNewest(journal: JournalStore): Promise<number> {
  const count = 10_000 - (await journal.runs()).length;
  for (let done = 0; done < count; done += 500) {
    const ids = Array.from({ length: Math.min(500, count - done) }, (_, index) => `more-${done + index}`);
    await Promise.all(ids.map((id, index) => journal.createRun(id, planned(), (done + index) % 777)));
  }
  let slowest = 0;
  for (let round = 0; round < 10; round += 1) {
    const startedAt = performance.now();
    if ((await journal.runs({ limit: 50 })).length !== 50) throw new Error("there are 10,000 runs");
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return slowest;
}

try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
