import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { createPgBossEngine } from "../../../src/fleet/pg-boss/index.ts";
import { startWorker } from "../../../src/fleet/worker/index.ts";
import { openShowrunner, pipeline, quoteEach, runEach, type Showrunner } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { chaosProxy } from "../../support/proxy.ts";

const LONG = 120_000;
const WORKERS = 4;

const five = pipeline("five", {
  input: z.object({ name: z.string() }),
  build: ({ input, job }) => ({
    all: [1, 2, 3, 4, 5].map((n) => job(`n${n}`, models.image, { prompt: `${input.name} ${n}` })),
  }),
});

const one = pipeline("one", {
  input: z.object({ name: z.string() }),
  build: ({ input, job }) => ({ picture: job("picture", models.image, { prompt: input.name }) }),
});

/** Six pictures, of which nobody knows before the first of two steps was done. */
const listed = pipeline("listed", {
  input: z.object({}),
  build({ task, expand }) {
    const names = task("names", {}, () => ({ all: ["a", "b", "c", "d", "e", "f"] }));
    const made = expand(
      "made",
      names.at("all"),
      (all, words) => all.map((name) => words.job(name, models.image, { prompt: name })),
      { maxSteps: 6 },
    );
    return { made };
  },
});

/** What each of these pictures costs, micro-dollars. */
const PRICE = 20_000;

describeNeeding(lacksPostgres())(`${WORKERS} workers with connections of their own`, () => {
  let folder: string;
  let cluster: PostgresCluster;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "worker-together-"));
    cluster = await PostgresCluster.start({ settings: { fsync: "off" } });
  }, LONG);
  afterAll(async () => {
    await cluster?.remove();
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  type Options = Parameters<typeof openShowrunner>[0];

  /** Starts with nothing: a database, a service and its workers. */
  async function world(service: Parameters<typeof startLocalService>[0], options: Options, count = WORKERS) {
    const journal = await cluster.createDatabase();
    const dataDir = mkdtempSync(join(folder, "service-"));
    const local = await startLocalService({ renderer: "stub", dataDir, ...service });
    const times: number[] = [];
    const proxy = await chaosProxy(local.baseUrl, () => {
      times.push(performance.now());
      return "none";
    });
    const { apiKey } = local;
    const mediaDir = join(dataDir, "media");
    const open = () => openShowrunner({ journal, baseUrl: proxy.baseUrl, apiKey, mediaDir, notify: false, ...options });
    const shows: Showrunner[] = [await open()];
    const stops: (() => Promise<void>)[] = [];
    for (let index = 0; index < count; index++) {
      const show = await open();
      shows.push(show);
      const engine = await createPgBossEngine({ connectionString: journal });
      const worker = await startWorker({ show, engine, sweepEveryMs: 500, findPipeline: async () => listed });
      stops.push(() => worker.stop({ drainMs: 5_000 }));
    }
    const [show] = shows as [Showrunner];
    const statuses = async () => (await show.runs()).map(({ status }) => status);
    const atRest = () =>
      expect
        .poll(async () => (await statuses()).filter((status) => status === "running" || status === "planned"), {
          timeout: LONG,
          interval: 100,
        })
        .toEqual([]);
    const close = async () => {
      for (const stop of stops) await stop();
      for (const one of shows) await one.close();
      await proxy.close();
      await local.close();
    };
    return { show, shows, local, times, statuses, atRest, close, outDir: (id: string) => join(dataDir, "out", id) };
  }

  test("that meet the limit of their key together fail nothing by it, in slices too", { timeout: LONG }, async () => {
    // Long enough that a slow machine reaches the limit too.
    const limit = { requests: 20, perMs: 3_000 };
    const { show, times, statuses, atRest, close, local, outDir } = await world(
      { balance: 10, rateLimit: { requests: limit.requests, windowMs: limit.perMs } },
      { clientOptions: { pace: { limit } } },
    );
    try {
      for (let run = 0; run < 4; run++) {
        await show.start(five, { name: `run ${run}` }, { id: `run-${run}`, outDir: outDir(`${run}`) });
      }
      await atRest();
      expect(await statuses()).toEqual(Array.from({ length: 4 }, () => "succeeded"));
      expect(times.length).toBeGreaterThan(limit.requests * 2);
      expect(JSON.stringify(local.stats().requests)).toContain('"429"');
      expect(local.stats()).toMatchObject({ jobs_created: 20, charged_micros: 20 * PRICE });
    } finally {
      await close();
    }
  });

  test.each([
    ["the wallet's floor", { walletFloor: "0.86" }],
    ["a cap of all runs", { spendingCap: "0.14" }],
  ])("pay no job beyond %s, and all that fit", { timeout: LONG }, async (_, limits) => {
    const { show, atRest, statuses, local, outDir, close } = await world({ balance: 1 }, limits);
    try {
      const ids = Array.from({ length: 12 }, (_, index) => `run-${index}`);
      const start = (id: string) => show.start(one, { name: id }, { id, outDir: outDir(id), startAnyway: true });
      await Promise.all(ids.map(start));
      await atRest();
      expect((await statuses()).toSorted()).toEqual([...repeat(5, "paused"), ...repeat(7, "succeeded")]);
      expect(local.stats()).toMatchObject({ jobs_created: 7, charged_micros: 7 * PRICE });
    } finally {
      await close();
    }
  });

  test("pay no job beyond the budget of a run, whichever of them has its slices", { timeout: LONG }, async () => {
    const { show, atRest, local, outDir, close } = await world({ balance: 1 }, {});
    try {
      await show.start(listed, {}, { id: "x", outDir: outDir("x"), budget: "0.07", startAnyway: true });
      await atRest();
      const { status, pause, cost } = await show.show("x");
      expect({ status, reason: pause?.reason, cost: Number(cost) }).toEqual({
        status: "paused",
        reason: "budget",
        cost: 0.06,
      });
      expect(local.stats()).toMatchObject({ jobs_created: 3, charged_micros: 3 * PRICE });
    } finally {
      await close();
    }
  });

  test("that all begin one bulk start begin no row beyond its budget, and each row once", {
    timeout: LONG,
  }, async () => {
    const { shows, local, close, outDir } = await world({ balance: 10 }, {});
    try {
      const rows = Array.from({ length: 8 }, (_, index) => ({ id: `row-${index}`, input: { name: `row ${index}` } }));
      const begun = shows.map(async (show) => {
        const quote = await quoteEach(show, one, rows);
        if (!quote.ok) throw new Error("the rows have problems");
        return runEach(show, one, quote, { budget: "0.11", outDir: outDir("bulk") });
      });
      for (const outcomes of await Promise.all(begun)) {
        expect(outcomes.map(({ status }) => status)).toEqual([...repeat(5, "succeeded"), ...repeat(3, "waiting")]);
      }
      expect(local.stats()).toMatchObject({ jobs_created: 5, charged_micros: 5 * PRICE });
    } finally {
      await close();
    }
  });
});

function repeat<T>(times: number, what: T): readonly T[] {
  return Array.from({ length: times }, () => what);
}
