import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { JournalDiskFullError, JournalIoError } from "../../../src/core/journal/errors.ts";
import { openSqliteJournal } from "../../../src/core/journal/sqlite.ts";
import {
  type Client,
  createMemoryJournal,
  file,
  type JournalStore,
  openShowrunner,
  pipeline,
  type RunResult,
  type TaskContext,
} from "../../../src/index.ts";
import { start } from "../../local-service/support/service.ts";
import { describeNeeding } from "../../support/absence.ts";
import { builtInCatalog, during, greyPng, isFull, models, pipelineOf, points, stepOf } from "../../support/engine.ts";
import { FakePaidService } from "../../support/fake-paid-service.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { fillDisk, noSmallDisk, smallDisk } from "../../support/small-disk.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { startSpender } from "./fixtures/swapped-disk.ts";

const longMs = 300_000;
const folder = newFolder();
const sample = join(folder, "start.png");
beforeAll(() => writeFileSync(sample, greyPng(512)));

/** A picture and one made from it; only the second is fetched. */
const show = pipelineOf("disk", ({ job }) => {
  const first = job("first", models.image, { prompt: "first" }, { keep: false });
  const last = job("last", models.image, { prompt: "last", images: [first] });
  return { last };
});
const jobs = 2;

/** A journal whose disk breaks at the n-th write, and stays broken until it is mended. */
class BreakingJournal {
  writes = 0;
  broken = false;
  readonly store: JournalStore;
  readonly #failAt: number;
  readonly #how: Breakage;

  constructor(inner: JournalStore, failAt: number, how: Breakage) {
    this.#failAt = failAt;
    this.#how = how;
    const writing = new Set(["commit", "takeLease", "releaseLease", "putHandle"]);
    this.store = new Proxy(inner, {
      get: (target, name) => {
        const member = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        const method = member.bind(target);
        return writing.has(String(name)) ? (...args: unknown[]) => this.#write(() => method(...args)) : method;
      },
    });
  }

  async #write(write: () => Promise<unknown>): Promise<unknown> {
    const first = !this.broken && ++this.writes === this.#failAt;
    if (first) this.broken = true;
    if (!this.broken) return write();
    // An fsync that fails leaves it open whether the data arrived: at the first failure, they did.
    if (first && this.#how.kept) await write();
    throw this.#how.error();
  }
}

interface Breakage {
  readonly name: string;
  readonly kept: boolean;
  readonly code: string;
  error(): Error;
}

const breakages: readonly Breakage[] = [
  { name: "full", kept: false, code: "JOURNAL_DISK_FULL", error: () => new JournalDiskFullError("x", "It is full.") },
  { name: "failing, with nothing written", kept: false, code: "JOURNAL_IO", error: ioError },
  { name: "failing in fsync, with everything written", kept: true, code: "JOURNAL_IO", error: ioError },
];

function ioError(): Error {
  return new JournalIoError("x", "The disk failed.");
}

async function world(name: string) {
  const clock = new SimulatedClock();
  const paidService = new FakePaidService({ catalog: builtInCatalog() });
  const journal = createMemoryJournal({ now: () => clock.now() });
  const home = join(folder, name);
  const open = (store: JournalStore, client: Client = paidService.client()) =>
    openShowrunner({ client, journal: store, clock, mediaDir: join(home, "media") });
  return { clock, paidService, journal, outDir: join(home, "out"), open };
}

/** What must be the same however the disk behaved. */
function essence({ status, cost, report }: RunResult) {
  const outputs = report.steps.flatMap(({ path, outputs }) => outputs.map(({ sha256, file }) => [path, sha256, file]));
  return { status, cost: cost.usd, held: report.held, outputs };
}

test.each(breakages)(
  "A journal on a disk that breaks at any write ($name) stops the run before paying for anything else; it resumes once mended [G41]",
  async (how) => {
    const calm = await world(`calm-${how.name}`);
    const watched = new BreakingJournal(calm.journal, Number.POSITIVE_INFINITY, how);
    const run = await (await calm.open(watched.store)).run(show, {}, { id: "x", outDir: calm.outDir });
    const expected = essence(await during(calm.clock, run.result()));
    expect(expected).toMatchObject({ status: "succeeded", cost: "0.20", held: "0.00" });
    expect(watched.writes).toBeGreaterThanOrEqual(12);
    console.log(`journal ${how.name}: ${watched.writes} writes, each failed once`);

    for (const at of points(watched.writes, 8)) {
      const { clock, paidService, journal, outDir, open } = await world(`${how.name}-${at}`);
      const breaking = new BreakingJournal(journal, at, how);
      const runner = await open(breaking.store);
      const begin = async () => (await runner.run(show, {}, { id: "x", outDir })).result();
      const beginning = begin().catch((error) => error);
      const outcome = await during(clock, beginning);
      if (outcome instanceof Error) expect(outcome, `write ${at}`).toMatchObject({ code: how.code });
      const exists = (await journal.run("x")) !== null;
      const events = exists ? await journal.read("x") : [];
      const intents = events.filter(({ event }) => event.type === "job.submit.intended").length;
      expect(paidService.submits, `write ${at}: sent, and not written down`).toBeLessThanOrEqual(intents);

      // The same process goes on, on the same journal, without waiting for any lease.
      breaking.broken = false;
      const goOn = async () => (exists ? (await runner.resume("x")).result() : begin());
      const resumed = await during(clock, goOn());
      expect(essence(resumed), `write ${at}`).toEqual(expected);
      expect(paidService.jobs.size, `write ${at}`).toBe(jobs);
      expect(await journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros: paidService.chargedMicros });
    }
  },
  longMs,
);

test("A media folder without free space while an output is fetched stops the run; what was paid for is fetched on resume, and nothing is paid again [G41]", async () => {
  const { clock, paidService, journal, outDir, open } = await world("media");
  const client = paidService.client();
  let full = true;
  const download: Client["download"] = (source, path, options) => {
    if (!full) return client.download(source, path, options);
    return Promise.reject(Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" }));
  };
  const runner = await open(journal, { ...client, download });
  const run = await runner.run(show, {}, { id: "x", outDir });
  await expect(during(clock, run.result())).rejects.toMatchObject({ code: "MEDIA_DISK", message: /resume/ });
  expect((await runner.show("x")).steps.filter(({ status }) => status === "failed")).toEqual([]);
  full = false;
  const done = await during(clock, (await runner.resume("x")).result());
  expect([done.status, paidService.jobs.size]).toEqual(["succeeded", jobs]);
  expect(stepOf(done, "last").outputs[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
});

const noSpace = () => Object.assign(new Error("ffmpeg failed: No space left on device"), { code: "ENOSPC" });

test.each(["writes", "looks at what was made"])(
  "A disk that is full while a local function %s stops the run, which goes on once there is space [G41]",
  async (what) => {
    const { journal, outDir, open } = await world(`encode-${what}`);
    let full = true;
    const drawn = pipelineOf("drawn", ({ task, choose }) => {
      const draw = async (_: unknown, { file }: TaskContext) => {
        if (full && what === "writes") throw noSpace();
        writeFileSync(file("still"), greyPng(8));
      };
      const still = task("draw", {}, draw, { files: { still: "image" } }).file("still");
      const score = () => {
        if (full) throw noSpace();
        return 1;
      };
      return { still: choose("best", [still], { by: score }) };
    });
    const runner = await open(journal);
    const run = await runner.run(drawn, {}, { id: "x", outDir });
    await expect(run.result()).rejects.toMatchObject({ code: "MEDIA_DISK", message: /the disk is full.*resume/ });
    expect((await runner.show("x")).steps.filter(({ status }) => status === "failed")).toEqual([]);
    full = false;
    expect((await (await runner.run(drawn, {}, { id: "x", outDir })).result()).status).toBe("succeeded");
  },
);

/** SQLite's own file is exchanged under it, in a process of its own: its writes or its fsyncs then really fail. */
describe.each([
  ["fails in fsync", "/dev/null", "JOURNAL_IO"],
  ["is full", "/dev/full", "JOURNAL_DISK_FULL"],
])("A journal whose disk really %s", (_name, device, code) => {
  test.each(isFull ? [2, 9, 20] : [9])(
    "from event %i on: the process stops, sends nothing more, and the run is resumed [G41]",
    async (event) => {
      const service = await start();
      const { baseUrl, apiKey } = service;
      const home = newFolder();
      const outcome = await startSpender({ baseUrl, apiKey, folder: home, device, event, count: 12 });
      expect(outcome).toMatchObject({ code });
      expect(service.stats().jobs_created).toBeLessThan(12);
      const runner = await openShowrunner({ baseUrl, apiKey, journal: join(home, "journal.db") });
      const done = await (await runner.resume("x")).result();
      await runner.close();
      expect(done.status).toBe("succeeded");
      expect(service.stats()).toMatchObject({ jobs_created: 12, charged_micros: 12 * 20_000 });
    },
    longMs,
  );
});

const disk = smallDisk("4m");
afterAll(() => disk?.unmount());

/** The tests above inject the same errors without a disk. */
describeNeeding(disk === null ? noSmallDisk : null)("A disk of four megabytes that fills up", () => {
  const withFile = pipeline("with-file", {
    input: z.object({ start: file("image") }),
    build({ input, job, upload }) {
      const start = upload("start", input.start);
      const all = [1, 2, 3, 4].map((n) => job(`p${n}`, models.image, { prompt: `${n}`, images: [start] }));
      return { all };
    },
  });

  test("with journal and media on it: nothing is sent, or what was sent is found again once there is free space [G41]", async () => {
    const { path } = disk!;
    const clock = new SimulatedClock();
    const paidService = new FakePaidService({ catalog: builtInCatalog() });
    for (const [round, fillAt] of ["upload.stored", "job.quoted", "job.submitted", "job.completed"].entries()) {
      const home = join(path, `${round}`);
      mkdirSync(home);
      const journal = await openSqliteJournal(join(home, "journal.db"));
      const options = { client: paidService.client(), journal, clock, mediaDir: join(home, "media") };
      const runner = await openShowrunner(options);
      const run = await runner.run(withFile, { start: sample }, { id: "x", outDir: join(folder, `out-${round}`) });
      let room = () => {};
      const filling = (async () => {
        for await (const update of run.events()) {
          if ("type" in update || update.event.type !== fillAt) continue;
          room = fillDisk(path);
          return;
        }
      })();
      const [ended] = await during(clock, Promise.allSettled([run.result()]));
      await filling;
      const sent = paidService.submits;
      room();
      if (ended.status === "rejected") {
        expect(["JOURNAL_DISK_FULL", "MEDIA_DISK"]).toContain(ended.reason.code);
        await during(clock, (await runner.resume("x")).result());
      }
      expect((await runner.show("x")).status, `full at ${fillAt}, after ${sent} submits`).toBe("succeeded");
      expect(paidService.jobs.size).toBe(4 * (round + 1));
      await runner.close();
      await journal.close();
    }
  });
});
