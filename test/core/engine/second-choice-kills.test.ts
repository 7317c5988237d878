import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createMemoryJournal, type RunResult } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { type CrashWorld, openProcess, untilEndOrDeath } from "../../support/crash-process.ts";
import { apiError, FakePaidService, models, pipelineOf, points } from "../../support/engine.ts";
import { SimulatedClock } from "../../support/simulated-clock.ts";
import { newFolder } from "../../support/temporary-folder.ts";
import { factsOf, runOnFakeService } from "./fixtures/crash-world.ts";

const folder = newFolder();

/** A still is paid for, its film refused; the next look fails and is refunded; the third is made. */
const second = pipelineOf("second", ({ firstOf, job }) => ({
  poster: job("poster", models.image, {
    prompt: "a poster",
    images: [
      firstOf("look", [
        (b) =>
          b.job("drawn", models.image, { prompt: "refused", images: [b.job("mood", models.image, { prompt: "m" })] }),
        (b) =>
          b.firstOf("other", [
            (c) => c.job("b", models.image, { prompt: "fails" }),
            (c) => c.job("c", models.image, { prompt: "any look" }),
          ]),
        (b) => b.job("never", models.image, { prompt: "never" }),
      ]),
    ],
  }),
}));

/**
 * The answer that refused it got lost with the process, and the refusal of a second send proves nothing: nothing is bought
 * in its place until a person says so.
 */
async function afterAWord(world: CrashWorld, { report }: RunResult): Promise<RunResult> {
  const statusOf = (path: string) => report.steps.find((step) => step.path === path)!.status;
  expect([statusOf("look/1/drawn"), statusOf("look/2/other/1/b")]).toEqual(["unresolved", "waiting"]);
  expect(world.paidService.jobs.size).toBe(1);
  const clock = new SimulatedClock();
  const crashInjector = new CrashInjector(Number.POSITIVE_INFINITY);
  const show = await openProcess(world, clock, crashInjector);
  await show.adopt("x", "look/1/drawn", null);
  const resumed = show.resume("x", { pipeline: second }).then((handle) => handle.result());
  return (await untilEndOrDeath(resumed, crashInjector, clock))!;
}

async function lifeWithDeathAt(point: number) {
  const paidService = new FakePaidService({
    refuses: (_, input) => (JSON.stringify(input).includes("refused") ? apiError(400, "INVALID_ARGUMENT") : null),
    fails: (_, body) => (body.includes("fails") ? { code: "INTERNAL", retryable: false } : null),
  });
  const world = { paidService, journal: createMemoryJournal(), dir: join(folder, `at-${point}`) };
  const crashInjector = new CrashInjector(point);
  const result = await runOnFakeService(world, { pipeline: second, input: {} }, crashInjector);
  const isUnresolved = result.pause?.reason === "unresolved";
  const { same } = await factsOf(world, isUnresolved ? await afterAWord(world, result) : result);
  await rm(world.dir, { recursive: true, force: true });
  return { same, crashInjector, isUnresolved };
}

test("killed at every append and every request, a run with second choices buys the same and comes to the same end", async () => {
  const calm = await lifeWithDeathAt(Number.POSITIVE_INFINITY);
  // One of the jobs failed and was refunded.
  expect(calm.same).toMatchObject({ status: "succeeded", jobs: 4, held: 0, jobsInLedger: 300_000 });
  expect(calm.same.steps).toContain("look/3/never skipped null");
  const { count } = calm.crashInjector;
  expect(count).toBeGreaterThan(40);
  let unresolved = 0;
  for (const point of points(count, 9)) {
    const { same, crashInjector, isUnresolved } = await lifeWithDeathAt(point);
    expect(same, `killed at ${point}: ${crashInjector.points[point - 1]}`).toEqual(calm.same);
    unresolved += Number(isUnresolved);
  }
  expect(unresolved).toBeLessThanOrEqual(4);
}, 120_000);
