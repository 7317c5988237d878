import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createMemoryJournal, type ResumeOptions } from "../../../src/index.ts";
import { CrashInjector } from "../../../src/testing/crash-injector.ts";
import { type CrashWorld, inProcess } from "../../support/crash-process.ts";
import { during, FakePaidService, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { points } from "../../support/sample.ts";
import { newFolder } from "../../support/temporary-folder.ts";

/** face → poster → print → frame: a rerun of the face makes all four again. */
const film = pipelineOf("film", ({ job }) => {
  const face = job("face", models.image, { prompt: "a face" });
  const poster = job("poster", models.image, { prompt: "a poster", images: [face] });
  const print = job("print", models.image, { prompt: "a print", images: [poster] });
  return { frame: job("frame", models.image, { prompt: "a frame", images: [print] }) };
});

const folder = newFolder();

const neverCrashing = () => new CrashInjector(Number.POSITIVE_INFINITY);

/** A finished run of four paid jobs. */
async function finished(name: string): Promise<CrashWorld> {
  const dir = join(folder, name);
  const world = { paidService: new FakePaidService({ varies: true }), journal: createMemoryJournal(), dir };
  const outDir = join(dir, "out");
  await inProcess(world, neverCrashing(), async (show) => (await show.run(film, {}, { id: "x", outDir })).result());
  expect(world.paidService.jobs.size).toBe(4);
  return world;
}

const resumeWith = (world: CrashWorld, crashInjector: CrashInjector, how: ResumeOptions) =>
  inProcess(world, crashInjector, async (show) => (await show.resume("x", how)).result());

/** Whether the journal says that the wish was fulfilled. */
async function isOver(world: CrashWorld): Promise<boolean> {
  const events = (await world.journal.read("x")).map(({ event: { type } }) => type);
  return events.lastIndexOf("run.finished") > events.indexOf("rerun.requested") && events.includes("rerun.requested");
}

describe("A rerun request is applied once", () => {
  test("killed at any moment and repeated, it submits no more jobs than requested [G11]", async () => {
    const calm = neverCrashing();
    await resumeWith(await finished("calm"), calm, { rerun: ["face"] });
    for (const point of points(calm.count, 16)) {
      const world = await finished(`once-${point}`);
      const how = { rerun: ["face"] };
      const result = (await resumeWith(world, new CrashInjector(point), how)) ?? null;
      const repeated = result === null && !(await isOver(world)) ? await resumeWith(world, neverCrashing(), how) : null;
      if (result === null && repeated === null) await resumeWith(world, neverCrashing(), {});
      expect(world.paidService.jobs.size, `killed at ${point}: ${calm.points[point - 1]}`).toBe(8);
      await rm(world.dir, { recursive: true, force: true });
    }
    expect(calm.count).toBeGreaterThan(20);
  }, 120_000);

  test("killed four times, it submits the 8 requested jobs", async () => {
    const world = await finished("four");
    for (const point of [20, 12, 12, 12]) {
      expect(await resumeWith(world, new CrashInjector(point), { rerun: ["face"] })).toBeNull();
    }
    const result = await resumeWith(world, neverCrashing(), { rerun: ["face"] });
    expect([result?.status, world.paidService.jobs.size]).toEqual(["succeeded", 8]);
    const requests = (await world.journal.read("x")).filter(({ event }) => event.type === "rerun.requested");
    expect(requests).toHaveLength(1);
  });

  test("under an id of the caller's, it is never applied twice, killed or not [G11]", async () => {
    const how = { rerun: ["face"], requestId: "retake-1" };
    const calm = neverCrashing();
    await resumeWith(await finished("named"), calm, how);
    for (const point of points(calm.count, 18)) {
      const world = await finished(`named-${point}`);
      await resumeWith(world, new CrashInjector(point), how);
      for (let again = 0; again < 2; again++) {
        const result = await resumeWith(world, neverCrashing(), how);
        expect(result?.status).toBe("succeeded");
      }
      expect(world.paidService.jobs.size, `killed at ${point}: ${calm.points[point - 1]}`).toBe(8);
      await rm(world.dir, { recursive: true, force: true });
    }
  }, 120_000);
});

async function film8(options: Parameters<typeof openFakeShow>[0] = {}) {
  const world = await openFakeShow({ varies: true, ...options });
  await world.run(film);
  return world;
}

describe("A rerun request", () => {
  test("that is finished is no longer in progress: the same request starts another", async () => {
    const world = await film8();
    await world.resume({ rerun: ["frame"] });
    await world.resume({ rerun: ["frame"] });
    expect(world.paidService.jobs.size).toBe(6);
    expect((await world.show.rerunQuote("x", ["frame"])).inProgress).toEqual([]);
  });

  test("in progress is continued, and only what it did not request is new [G11]", async () => {
    const world = await film8();
    // Nothing can be paid for: the run pauses with the rerun in progress.
    const balance = world.paidService.balanceMicros;
    world.paidService.balanceMicros = 0;
    expect((await world.resume({ rerun: ["frame"] })).pause?.reason).toBe("funds");
    const quote = await during(world.clock, world.show.rerunQuote("x", ["frame"]));
    expect(quote).toMatchObject({ stale: [], totalMicros: { min: 0, max: 0 } });
    expect(quote.inProgress).toMatchObject([{ steps: ["frame"], isOpen: true }]);
    world.paidService.balanceMicros = balance;
    const both = await during(world.clock, world.show.rerunQuote("x", ["print", "frame"]));
    expect(both).toMatchObject({ stale: ["print", "frame"], inProgress: [{ steps: ["frame"] }] });
    expect((await world.resume({ rerun: ["print", "frame"] })).status).toBe("succeeded");
    // One print and one frame more.
    expect(world.paidService.jobs.size).toBe(6);
  });

  test("is over when the run waits for a decision, so that a take can be rerun any number of times", async () => {
    const casting = pipelineOf("casting", ({ job, approve }) => ({
      poster: approve("gate", job("face", models.image, { prompt: "a face" })),
    }));
    const world = await openFakeShow({ varies: true });
    await world.run(casting);
    for (let take = 2; take <= 4; take++) {
      expect((await world.resume({ rerun: ["face"] })).pause?.reason).toBe("approval");
      expect(world.paidService.jobs.size).toBe(take);
    }
  });

  test("of an id that was for other steps, or without steps, or with a bad id, is refused by name", async () => {
    const world = await film8();
    await world.resume({ rerun: ["frame"], requestId: "a" });
    const before = await world.journal.read("x");
    for (const how of [
      { rerun: ["print"], requestId: "a" },
      { requestId: "b" },
      { rerun: ["frame"], requestId: "no spaces" },
    ]) {
      await expect(world.show.resume("x", how)).rejects.toMatchObject({ option: "requestId" });
    }
    expect(await world.journal.read("x")).toEqual(before);
  });
});
