import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryJournal, type Pipeline, type ResumeOptions } from "../../../src/index.ts";
import { CrashInjector, type Moment, timesOf } from "../../../src/testing/crash-injector.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { type CrashWorld, inProcess } from "../../support/crash-process.ts";
import { eventsOf, FakePaidService, isFull, models, newFolder, pipelineOf } from "../../support/engine.ts";

const catalog = builtInCatalog();

/** A still, and a poster of it, whose words the code changes. */
function film(words: string, name = "poster"): Pipeline {
  return pipelineOf("film", ({ job }) => {
    const still = job("still", models.image, { prompt: "a lighthouse" });
    return { poster: job(name, models.image, { prompt: words, images: [still] }) };
  });
}

const change: ResumeOptions & { readonly pipeline: Pipeline } = { pipeline: film("by day"), acceptChanges: true };

function newWorld(): CrashWorld {
  const paidService = new FakePaidService({ catalog, varies: true });
  return { paidService, journal: createMemoryJournal(), dir: newFolder() };
}

async function firstLife(world: CrashWorld, dieAt: number | Moment): Promise<CrashInjector> {
  const injector = new CrashInjector(dieAt);
  await inProcess(world, injector, async (show) => (await show.run(film("by night"), {}, { id: "x" })).result());
  return injector;
}

const resumed = (world: CrashWorld, how: ResumeOptions = {}, dieAt: number | Moment = Number.POSITIVE_INFINITY) =>
  inProcess(world, new CrashInjector(dieAt), async (show) => (await show.resume("x", how)).result());

/** The last time that an undisturbed first life passes this boundary. */
async function lastOf(point: string): Promise<Moment> {
  const { points } = await firstLife(newWorld(), Number.POSITIVE_INFINITY);
  return { point, nth: timesOf(points, point) };
}

/** Killed at this boundary, and continued with the changed code. */
async function changedAfter(point: string, meanwhile: (world: CrashWorld) => void = () => {}, paidMicros?: number) {
  const world = newWorld();
  await firstLife(world, await lastOf(point));
  meanwhile(world);
  const result = await resumed(world, change);
  return { world, result: result!, ...(await outcome(world, paidMicros)) };
}

/** What was bought and withdrawn, where the ledger has what the service charged, and nothing reserved. */
async function outcome(world: CrashWorld, settledMicros = world.paidService.chargedMicros) {
  const { prompts } = world.paidService;
  expect(await world.journal.ledger("x")).toEqual({ heldMicros: 0, settledMicros });
  const events = await eventsOf(world);
  const reasons = events.flatMap((event) => (event.type === "job.submit.withdrawn" ? [event.reason] : []));
  return { prompts, reasons };
}

/** Somebody else's job of the same model, which no step knows. */
function foreign({ paidService }: CrashWorld, id: string, prompt: string | null): void {
  const [known] = paidService.jobs.values();
  const createdAt = paidService.now();
  paidService.jobs.set(id, { ...known!, jobId: id, key: id, body: JSON.stringify({ prompt }), createdAt });
}

const BEFORE = "submit: before sending";
const AFTER = "submit: accepted";

test("A request that was never sent is not made once its step has changed: the changed one is", async () => {
  const { result, prompts, reasons } = await changedAfter(BEFORE);
  expect(result.status).toBe("succeeded");
  expect({ prompts, reasons }).toEqual({ prompts: ["a lighthouse", "by day"], reasons: ["changed"] });
});

test("Nor is it made if a process died while it waited to apply another change, which left the request as it was", async () => {
  const world = newWorld();
  await firstLife(world, await lastOf(BEFORE));
  const renamed = { pipeline: film("by night", "placard"), acceptChanges: true };
  expect(await resumed(world, renamed, { point: BEFORE, nth: 1 })).toBeNull();
  expect((await resumed(world, change))?.status).toBe("succeeded");
  expect(await outcome(world)).toMatchObject({ prompts: ["a lighthouse", "by day"], reasons: ["changed"] });
});

test("A job of a changed step that the service lists is collected, and not asked for again", async () => {
  const { result, prompts, reasons, world } = await changedAfter(AFTER);
  expect([result.status, world.paidService.submits]).toEqual(["succeeded", 3]);
  expect({ prompts, reasons }).toEqual({ prompts: ["a lighthouse", "by night", "by day"], reasons: [] });
});

/** A service that shows a prompt as it has rewritten it. */
function rewritten({ paidService }: CrashWorld): void {
  const client = paidService.client.bind(paidService);
  paidService.client = (boundary) => {
    const inner = client(boundary);
    const { job } = inner;
    return Object.assign(inner, {
      job: async (...args: Parameters<typeof job>) => ({ ...(await job(...args)), prompt: "a rewritten prompt" }),
    });
  };
}

const unlisted = ({ paidService }: CrashWorld) => {
  const client = paidService.client.bind(paidService);
  const modelJobs = () => {
    throw new Error("no list today");
  };
  paidService.client = (boundary) => Object.assign(client(boundary), { modelJobs });
};

test.each<[string, string, (world: CrashWorld) => void, number]>([
  ["several jobs may be what a request made", AFTER, (world) => foreign(world, "job_a", "by night"), 4],
  ["a job without a prompt may be what a request made", BEFORE, (world) => foreign(world, "job_a", null), 3],
  ["a job with another prompt may be what a request made", BEFORE, (world) => foreign(world, "job_a", "a cat"), 3],
  ["the service shows another prompt for the job of a request", AFTER, rewritten, 4],
  ["the service does not list its jobs", AFTER, unlisted, 4],
])("Where %s, it is sent again under its key", async (_, point, meanwhile, submits) => {
  const { result, world, reasons } = await changedAfter(point, meanwhile, 300_000);
  expect([result.status, reasons]).toEqual(["succeeded", []]);
  expect([world.paidService.byKey.size, world.paidService.submits]).toEqual([3, submits]);
});

test("Without an accepted change the request is sent again, as it was", async () => {
  const world = newWorld();
  await firstLife(world, await lastOf(BEFORE));
  await resumed(world);
  expect((await outcome(world)).prompts).toEqual(["a lighthouse", "by night"]);
});

test("Killed at any two boundaries, no request is paid for twice, and none of a changed step is bought that was not sent before [G9]", async () => {
  const calm = await firstLife(newWorld(), Number.POSITIVE_INFINITY);
  const last = calm.points.length;
  const accepted = timesOf(calm.points, AFTER);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 8, max: last }), fc.integer({ min: 1, max: 60 }), async (first, second) => {
      const world = newWorld();
      const life = await firstLife(world, first);
      const wasSent = timesOf(life.points, AFTER) === accepted;
      if ((await world.journal.read("x").catch(() => [])).length === 0) return;
      let result = await resumed(world, change, second);
      while (result === null) {
        const isTaken = (await world.journal.read("x")).some(({ event }) => event.type === "run.replanned");
        result = await resumed(world, isTaken ? { pipeline: change.pipeline } : change);
      }
      const { prompts } = await outcome(world);
      expect(result.status).toBe("succeeded");
      expect(prompts.toSorted()).toEqual(wasSent ? ["a lighthouse", "by day", "by night"] : ["a lighthouse", "by day"]);
    }),
    { numRuns: isFull ? 400 : 8 },
  );
}, 120_000);
