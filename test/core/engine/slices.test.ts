import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LocalWork } from "../../../src/core/engine/slice/run-slices.ts";
import { JournalNewerVersionError } from "../../../src/core/journal/errors.ts";
import { retireHolder, thisHolder } from "../../../src/core/journal/host.ts";
import type { LeaseHolder } from "../../../src/core/journal/store.ts";
import { FoldedRun } from "../../../src/core/view/run-view.ts";
import { openShowrunner, type Pipeline } from "../../../src/index.ts";
import { during, type FakeShow, isFull, models, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { mortalProcess } from "../../support/mortal-process.ts";

const chain = pipelineOf("chain", ({ job }) => {
  const look = job("look", models.image, { prompt: "look" });
  const scenes = ["one", "two"].map((name) => job(name, models.image, { prompt: name, images: [look] }));
  return { scenes };
});

const gated = pipelineOf("gated", ({ job, approve }) => {
  const draft = job("draft", models.image, { prompt: "draft" });
  return { final: job("final", models.image, { prompt: "final", images: [approve("gate", draft)] }) };
});

const counted = (calls: string[]) =>
  pipelineOf("counted", ({ task, job }) => {
    const words = task("words", {}, () => {
      calls.push("words");
      return "a boat";
    });
    return { image: job("image", models.image, { prompt: words }) };
  });

/** A run that was started and not driven yet. */
async function begun(what: Pipeline, options: Parameters<typeof openFakeShow>[0] = {}): Promise<FakeShow> {
  const world = await openFakeShow(options);
  await world.show.start(what, {}, { id: "x", outDir: world.outDir });
  return world;
}

/** Local work that is delegated, and never performed unless a test does it. */
function delegating(code: Pipeline) {
  const works: LocalWork[] = [];
  const delegate = async (work: LocalWork) => void works.push(work);
  return { works, how: { findPipeline: async () => code, delegate } };
}

/** One slice in a process of its own, which may die at a boundary. */
async function mortalSlice(world: FakeShow, dieAt: number): Promise<void> {
  const { show, live } = await mortalProcess(world, dieAt);
  await live(show.engine.slice("x"));
}

describe("A run that is driven in slices", () => {
  test("is parked while a job renders: no lease, and nothing is read before it is due", async () => {
    const world = await begun(chain);
    const first = await world.show.engine.slice("x");
    expect(first.status).toBe("running");
    expect(first.wakeAt! - world.clock.now()).toBeGreaterThanOrEqual(3_000);
    const row = await world.journal.run("x");
    expect(row).toMatchObject({ lease: null, wakeAt: first.wakeAt, status: "running" });
    for (let wakes = 0; wakes < 5; wakes++)
      expect(await world.show.engine.slice("x")).toMatchObject({ wakeAt: first.wakeAt });
    expect(await world.journal.run("x")).toEqual(row);
    expect(world.paidService.polls).toBe(0);
    await world.clock.advance(first.wakeAt! - world.clock.now());
    const second = await world.show.engine.slice("x");
    expect(world.paidService.polls).toBe(1);
    expect(second.wakeAt! - world.clock.now()).toBeGreaterThanOrEqual(5_000);
    expect((await world.show.show("x")).status).toBe("running");
  });

  test("polls a job at once when a webhook hints at it", async () => {
    const world = await begun(chain, { rendersMs: 1_000 });
    await world.show.engine.slice("x");
    await world.clock.advance(1_500);
    await world.journal.send("x", { type: "hint", step: "look", attempt: 1 }, world.clock.now());
    const { account } = (await world.journal.run("x"))!;
    expect(await world.journal.dueRuns({ account, at: world.clock.now(), limit: 1 })).toEqual(["x"]);
    await world.show.engine.slice("x");
    expect([world.paidService.polls, world.paidService.jobs.size]).toEqual([1, 3]);
  });

  test("tells a process that keeps the run of a webhook that came to another one", async () => {
    const { paidService, journal, clock, mediaDir, outDir } = await openFakeShow();
    const told: string[] = [];
    const client = { ...paidService.client(), notify: (jobId: string) => void told.push(jobId) };
    const show = await openShowrunner({ client, journal, clock, mediaDir, notify: false });
    const other = await openShowrunner({ client: paidService.client(), journal, clock, mediaDir, notify: false });
    const result = (await show.run(chain, {}, { id: "x", outDir })).result();
    while (paidService.jobs.size === 0) await new Promise((resolve) => setImmediate(resolve));
    const [jobId] = paidService.jobs.keys();
    const early = async () => (await other.engine.hint({ id: "d", jobId: jobId! })).outcome === "early";
    while (await early()) await new Promise((resolve) => setImmediate(resolve));
    await during(clock, result);
    expect(told).toEqual([jobId]);
    await show.close();
    await other.close();
  });

  test("rests at a decision, and goes on with the next slice after it", async () => {
    const world = await begun(gated);
    expect((await world.drive()).at(-1)).toMatchObject({ status: "paused", wakeAt: null });
    expect(await world.show.engine.slice("x")).toMatchObject({ status: "paused" });
    await world.show.approve("x", "gate");
    expect((await world.drive()).at(-1)).toMatchObject({ status: "succeeded", wakeAt: null });
    expect(world.paidService.submits).toBe(2);
  });

  test("stays stopped once a stop was read, and goes on when a person resumes it", async () => {
    const world = await begun(chain);
    await world.show.engine.slice("x");
    await world.show.stop("x");
    expect((await world.drive()).at(-1)).toMatchObject({ status: "paused" });
    expect(await world.show.engine.slice("x")).toMatchObject({ status: "paused", wakeAt: null });
    await world.show.engine.slice("x", { resume: {} });
    expect((await world.drive()).at(-1)).toMatchObject({ status: "succeeded" });
    expect(world.paidService.submits).toBe(3);
  });

  test("whose local work is delegated is parked until that tells what came of it; a second answer changes nothing", async () => {
    const calls: string[] = [];
    const code = counted(calls);
    const world = await begun(code);
    const { works, how } = delegating(code);
    const parked = await world.show.engine.slice("x", how);
    expect(calls).toEqual([]);
    expect(works).toHaveLength(1);
    expect(parked.wakeAt! - world.clock.now()).toBeGreaterThan(60_000);
    const [work] = works;
    expect(JSON.parse(JSON.stringify(work))).toEqual(work);
    await world.show.engine.work(work!, how);
    await world.show.engine.work(work!, how);
    expect(calls).toEqual(["words", "words"]);
    expect((await world.drive(how)).at(-1)).toMatchObject({ status: "succeeded" });
    await world.show.engine.work(work!, how);
    expect(calls).toHaveLength(2);
    expect(works).toHaveLength(1);
    expect(world.paidService.submits).toBe(1);
    expect((await world.journal.read("x")).filter(({ event }) => event.type === "task.completed")).toHaveLength(1);
  });

  test("goes on although its delegated work was performed before the engine said that it has it", async () => {
    const code = counted([]);
    const world = await begun(code);
    const findPipeline = async () => code;
    const delegate = async (work: LocalWork) => {
      await world.show.engine.work(work, { findPipeline });
      // The driver looks into its inbox meanwhile.
      await world.clock.advance(2_500);
    };
    const slice = await during(world.clock, world.show.engine.slice("x", { findPipeline, delegate }));
    expect(slice.wakeAt! - world.clock.now()).toBeLessThan(60_000);
    expect((await world.drive({ findPipeline, delegate })).at(-1)).toMatchObject({ status: "succeeded" });
  });

  test("whose delegated work died with its process is looked at anew, and asks for it at once", async () => {
    const code = counted([]);
    const world = await begun(code);
    const { works, how: given } = delegating(code);
    const how = { ...given, worksHere: true };
    const slice = await during(world.clock, world.show.engine.slice("x", how));
    expect(slice.wakeAt! - world.clock.now()).toBeGreaterThan(600_000);
    await during(world.clock, world.show.engine.slice("x", { ...how, anew: true }));
    expect(works.length).toBe(1);

    const request = { at: world.clock.now(), ttlMs: 1_000, isDead: () => false };
    const taken = await world.journal.takeLease("x", thisHolder("test"), request);
    if (!taken.acquired) throw new Error("the run is at rest");
    retireHolder((taken.memo as unknown as { readonly worker: LeaseHolder }).worker);
    const { wakeAt: at, status } = (await world.journal.run("x"))!;
    const { lease, event, memo } = taken;
    const parked = { lease, afterSeq: event.seq, at: world.clock.now(), events: [], status, park: true };
    await world.journal.commit({ ...parked, wake: { at, memo } });
    await during(world.clock, world.show.engine.slice("x", { ...how, anew: true }));
    expect(works.length).toBe(2);
  });

  test("whose delegated work is lost asks for it again", async () => {
    const code = counted([]);
    const world = await begun(code);
    const { works, how } = delegating(code);
    const { wakeAt } = await world.show.engine.slice("x", how);
    await world.clock.advance(wakeAt! - world.clock.now());
    await world.show.engine.slice("x", how);
    expect(works).toHaveLength(2);
    expect(works[1]).toEqual(works[0]);
  });

  test("learns how long its jobs take, and counts the time in which it was parked as driven", async () => {
    const world = await begun(chain, { rendersMs: 60_000 });
    await world.drive();
    const took = (await world.journal.results({ runId: "x" })).map((result) => result.tookMs ?? 0);
    expect(took).toHaveLength(3);
    // It is noticed with the poll after it.
    for (const ms of took) expect(ms / 60_000).toSatisfy((ratio: number) => ratio >= 1 && ratio < 1.2);
    const { view, history } = FoldedRun.of(await world.journal.read("x"));
    expect(history.incidents(view!.state)).toEqual([]);
    expect((await world.show.show("x")).took_ms).toBeGreaterThanOrEqual(120_000);
  });

  test("does not learn from a job that nobody looked at for a while", async () => {
    const world = await begun(chain, { rendersMs: 60_000 });
    await world.show.engine.slice("x");
    await world.clock.advance(3_600_000);
    await world.drive();
    const took = (await world.journal.results({ runId: "x" })).map(({ step, tookMs }) => [step, tookMs !== undefined]);
    expect(Object.fromEntries(took)).toEqual({ look: false, one: true, two: true });
  });

  test("looks at the wallet when it waits for funds, writes nothing meanwhile, and goes on once they are there", async () => {
    const { show, clock, paidService, journal, outDir, drive } = await openFakeShow({ balanceMicros: 0 });
    await show.start(chain, {}, { id: "x", outDir, startAnyway: true });
    const slice = (waitForFundsMs: number) => during(clock, show.engine.slice("x", { waitForFundsMs }));
    const paused = await slice(60_000);
    expect(paused).toMatchObject({ status: "paused", driven: { pause: "funds" } });
    const row = await journal.run("x");
    await clock.advance(paused.wakeAt! - clock.now());
    expect(await slice(0)).toMatchObject({ wakeAt: null, driven: null });
    expect((await slice(60_000)).wakeAt).toBe(clock.now() + 10_000);
    expect(await journal.run("x")).toEqual(row);
    paidService.balanceMicros = 1_000_000_000;
    expect((await slice(60_000)).status).toBe("running");
    expect((await drive()).at(-1)?.status).toBe("succeeded");
  });

  test("is left to others, with a plain message, by a process that has not its code", async () => {
    const calls: string[] = [];
    const world = await begun(counted(calls));
    const left = await world.show.engine.slice("x", { findPipeline: async () => null });
    expect(left).toMatchObject({ status: "left", message: expect.stringContaining("words") });
    // Nor does it hand the work to others like it.
    const delegate = async () => expect.unreachable();
    expect(await world.show.engine.slice("x", { findPipeline: async () => null, delegate })).toMatchObject(left);
    expect(left.wakeAt).toBeGreaterThan(world.clock.now());
    expect((await world.journal.run("x"))!.lease).toBeNull();
    expect((await world.drive({ findPipeline: async () => counted(calls) })).at(-1)).toMatchObject({
      status: "succeeded",
    });
    expect(calls).toEqual(["words"]);
  });

  test("that a newer program went on with is left to it: the lease is given back at once", async () => {
    const world = await begun(chain);
    await world.show.engine.slice("x");
    const newer = await openShowrunner({
      ...{ client: world.paidService.client(), journal: world.journal, mediaDir: world.mediaDir },
      ...{ clock: world.clock, notify: false },
    });
    await world.clock.advance(10_000);
    await newer.engine.slice("x");
    await world.clock.advance(10_000);
    const { read } = world.journal;
    world.journal.read = () => Promise.reject(new JournalNewerVersionError("x", "Event 9 has version 99."));
    expect(await world.show.engine.slice("x")).toMatchObject({ status: "left", message: "Event 9 has version 99." });
    expect((await world.journal.run("x"))!.lease).toBeNull();
    world.journal.read = read;
    expect((await newer.engine.slice("x")).status).toBe("succeeded");
    await newer.close();
  });

  test("is told busy while another process drives it, which is left alone", async () => {
    const world = await begun(chain);
    const handle = await world.show.resume("x");
    await world.clock.advance(100);
    expect(await world.show.engine.slice("x")).toMatchObject({ status: "busy" });
    await handle.stop();
  });

  test("gives other runs their turn once it has lasted long enough, and is due at once", async () => {
    const world = await begun(chain);
    const end = new AbortController();
    end.abort();
    const slice = await world.show.engine.slice("x", { signal: end.signal });
    expect(slice.wakeAt).toBeLessThanOrEqual(world.clock.now());
    expect((await world.drive({ signal: end.signal })).at(-1)).toMatchObject({ status: "succeeded" });
    expect(world.paidService.submits).toBe(3);
  });

  test("comes to the same end as a run that is driven hot, with the same submits, whichever wakes come and whenever a slice dies", async () => {
    const hot = await openFakeShow();
    const wanted = (await hot.run(chain)).report;
    const wake = fc.record({
      afterMs: fc.constantFrom(0, 1, 500, 3_000, 20_000),
      dieAt: fc.option(fc.nat(12), { freq: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(wake, { maxLength: 8 }), async (wakes) => {
        const world = await begun(chain);
        for (const { afterMs, dieAt } of wakes) {
          await world.clock.advance(afterMs);
          await mortalSlice(world, dieAt ?? Number.POSITIVE_INFINITY);
        }
        await world.drive();
        const { status, cost, steps } = await world.show.show("x");
        expect({ status, cost, paths: steps.map(({ path }) => path) }).toEqual({
          status: wanted.status,
          cost: wanted.cost,
          paths: wanted.steps.map(({ path }) => path),
        });
        const bodies = (one: FakeShow) => [...one.paidService.jobs.values()].map(({ body }) => body).toSorted();
        expect(bodies(world)).toEqual(bodies(hot));
      }),
      { numRuns: isFull ? 200 : 10 },
    );
  }, 300_000);
});
