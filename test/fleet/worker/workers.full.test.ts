import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { startWorker } from "../../../src/fleet/worker/index.ts";
import { openShowrunner, pipeline } from "../../../src/index.ts";
import { type LocalService, startLocalService } from "../../../src/local-service/index.ts";
import { describeNeeding } from "../../support/absence.ts";
import { freePort } from "../../support/free-port.ts";
import { lacksPostgres, PostgresCluster } from "../../support/postgres.ts";
import { lacksRestate, RestateServer } from "../../support/restate.ts";
import { type EngineSpec, makeKnown, openEngine } from "./engines.ts";

const LONG = 60_000;

/** Jobs before and after a person's decision, and a function of this file. */
const gated = pipeline("gated", {
  input: z.object({}),
  build({ job, approve, task }) {
    const drafts = ["one", "two"].map((name) => job(name, models.image, { prompt: name }));
    const count = task("count", { drafts }, ({ drafts: all }) => all.length);
    const fine = approve("fine", drafts[0]!);
    return { count, final: job("final", models.image, { prompt: "final", images: [fine] }) };
  },
});

const counting = pipeline("counting", {
  input: z.object({}),
  build: ({ task }) => ({ one: task("one", {}, () => 1) }),
});

describeNeeding(lacksPostgres(), lacksRestate())("Workers", () => {
  let cluster: PostgresCluster;
  let restate: RestateServer;
  let service: LocalService;
  let folder: string;
  let names = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "workers-"));
    [cluster, restate, service] = await Promise.all([
      PostgresCluster.start(),
      RestateServer.start(),
      startLocalService({ renderer: "stub", balance: 1_000, dataDir: join(folder, "service") }),
    ]);
  }, LONG);
  afterAll(async () => {
    await service?.close();
    await Promise.all([cluster?.remove(), restate?.remove()]);
    rmSync(folder, { recursive: true, force: true });
  }, LONG);

  async function specOf(kind: EngineSpec["kind"]): Promise<EngineSpec> {
    if (kind === "timers") return { kind };
    if (kind === "pg-boss") return { kind, connectionString: await cluster.createDatabase() };
    const { ingress, admin } = restate;
    return { kind, ingress, name: `workers${++names}`, endpoint: { admin, port: await freePort() } };
  }

  const combinations = (["timers", "pg-boss", "restate"] as const).flatMap((kind) =>
    (["SQLite", "PostgreSQL"] as const).map((store) => ({ kind, store })),
  );
  test.concurrent.for(combinations)(
    "of the engine $kind drive a run on $store: jobs, a decision, a function as a job of its own",
    { timeout: LONG },
    async ({ kind, store }, { expect }) => {
      const own = join(folder, `${kind} ${store}`);
      const journal = store === "SQLite" ? join(own, "journal.db") : await cluster.createDatabase();
      const { baseUrl, apiKey } = service;
      const spec = await specOf(kind);
      await makeKnown(spec);
      const how = { journal, baseUrl, apiKey, mediaDir: join(own, "media"), notify: false } as const;
      // Who starts and decides knows the run, and of the engine only how to wake it.
      const person = await openShowrunner(how);
      const shows = [await openShowrunner(how), await openShowrunner(how)];
      const workers = await Promise.all(
        // The engine of one process has one.
        shows.slice(0, kind === "timers" ? 1 : 2).map(async (show) => {
          const engine = await openEngine(spec);
          const worker = await startWorker({ show, engine, findPipeline: async () => gated, sweepEveryMs: 500 });
          return { engine, worker };
        }),
      );
      try {
        const { id } = await person.start(gated, {}, { outDir: join(own, "out") });
        await workers[0]!.engine.wake(id);
        const status = async () => (await person.show(id)).status;
        await expect.poll(status, { timeout: LONG, interval: 50 }).toBe("paused");
        await person.approve(id, "fine");
        await expect.poll(status, { timeout: LONG, interval: 50 }).toBe("succeeded");
        for (const { worker } of workers) expect(worker.isReady()).toBe(true);
      } finally {
        for (const { worker } of workers) await worker.stop({ drainMs: 5_000 });
        for (const show of [person, ...shows]) await show.close();
      }
    },
  );

  test.concurrent("of two versions on Restate leave a run to the one that has its code", { timeout: LONG }, async ({
    expect,
  }) => {
    const own = join(folder, "versions");
    const { baseUrl, apiKey } = service;
    const open = () =>
      openShowrunner({
        ...{ journal: join(own, "journal.db"), mediaDir: join(own, "media") },
        ...{ baseUrl, apiKey, notify: false },
      });
    const shows = [await open(), await open()] as const;
    // Each has a name and an address of its own.
    const [old, young] = [await specOf("restate"), await specOf("restate")];
    const left: string[] = [];
    const workers = [];
    try {
      for (const [spec, code, show] of [
        [old, counting, shows[0]],
        [young, null, shows[1]],
      ] as const) {
        const engine = await openEngine(spec);
        const findPipeline = async () => code;
        const onSlice = (runId: string, { status }: { readonly status: string }) => {
          if (status === "left") left.push(runId);
        };
        const worker = await startWorker({ show, engine, findPipeline, onSlice, sweepEveryMs: 500 });
        workers.push({ engine, worker });
      }
      const { id } = await shows[0].start(counting, {}, { outDir: join(own, "out") });
      await workers[1]!.engine.wake(id);
      const status = async () => (await shows[0].show(id)).status;
      await expect.poll(status, { timeout: LONG, interval: 50 }).toBe("succeeded");
      expect(left).toContain(id);
    } finally {
      for (const { worker } of workers) await worker.stop({ drainMs: 5_000 });
      for (const show of shows) await show.close();
    }
  });

  test("each paid step was one job", () => {
    expect(service.stats().jobs_created).toBe(3 * combinations.length);
  });
});
