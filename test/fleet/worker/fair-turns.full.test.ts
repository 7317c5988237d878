import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { createTimersEngine, startWorker } from "../../../src/fleet/worker/index.ts";
import { openShowrunner, pipeline } from "../../../src/index.ts";
import { startLocalService } from "../../../src/local-service/index.ts";

/** All of them in check:full. */
const STEPS = process.env.SHOWRUNNER_TEST_RUNS === undefined ? 400 : 2_000;
const LONG = 120_000;
const folder = mkdtempSync(join(tmpdir(), "fair-turns-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pictures = pipeline("pictures", {
  input: z.object({ name: z.string(), count: z.number() }),
  build: ({ input, job }) => ({
    all: Array.from({ length: input.count }, (_, n) => job(`n${n}`, models.image, { prompt: `${input.name} ${n}` })),
  }),
});

test(`Twenty runs of 5 steps that start after one of ${STEPS} are through long before it, in a worker of four requests at a time`, {
  timeout: LONG,
}, async () => {
  const service = await startLocalService({
    ...{ renderer: "stub", balance: 1_000, dataDir: join(folder, "service") },
    rateLimit: { requests: 100_000, windowMs: 60_000 },
  });
  const { baseUrl, apiKey } = service;
  const show = await openShowrunner({
    ...{ baseUrl, apiKey, journal: join(folder, "journal.db"), notify: false },
    clientOptions: { pace: { maxInFlight: 4, maxPerSecond: 400, limit: { requests: 100_000, perMs: 60_000 } } },
  });
  const ended: string[] = [];
  const engine = createTimersEngine();
  const worker = await startWorker({
    ...{ show, engine },
    onSlice: (runId, { status }) => void (status === "succeeded" && ended.push(runId)),
  });
  try {
    const start = async (id: string, count: number) => {
      await show.start(
        pictures,
        { name: id, count },
        { id, outDir: join(folder, "out", id), startAnyway: true, concurrency: count },
      );
      await engine.wake(id);
    };
    await start("large", STEPS);
    await expect.poll(() => service.stats().jobs_created, { timeout: LONG, interval: 20 }).toBeGreaterThan(20);
    for (let run = 0; run < 20; run++) await start(`small-${run}`, 5);
    await expect.poll(() => ended.length, { timeout: LONG, interval: 50 }).toBeGreaterThanOrEqual(20);
    expect(ended).not.toContain("large");
    const { steps } = await show.show("large");
    const through = steps.filter(({ status }) => status === "succeeded").length;
    console.log(`${through} of ${STEPS} steps of the large run were through when the last small run was`);
    expect(through).toBeLessThan(STEPS / 2);
    // It was not starved either.
    expect(service.stats().jobs_created - 20 * 5).toBeGreaterThan(40);
  } finally {
    await worker.stop({ drainMs: 10_000 });
    await show.close();
    await service.close();
  }
});
