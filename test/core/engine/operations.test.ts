import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { apiCallError, during, filmBy, MockProvider, openFakeShow, pipelineOf } from "../../support/engine.ts";
import { TINY_MP4 } from "../../support/tiny-media.ts";

const video = (data: Uint8Array) => ({ type: "binary", data, mediaType: "video/mp4" });
const empties = [
  ["nothing", { videos: [] }],
  ["no list at all", {}],
  ["an empty file", { videos: [video(new Uint8Array())] }],
  ["what is no film", { videos: [video(new TextEncoder().encode("<html>Sign in</html>"))] }],
] as const;

const nothingMade = { status: "completed", videos: [] };
const LEFT = { status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } };

/** A provider that says this of its operation. */
function saying(status: object): MockProvider {
  const provider = new MockProvider();
  provider.status = () => status as never;
  return provider;
}

// What is measured in a thread takes real time, in which simulated time would pass.
test.each(empties.slice(0, 3))(
  "an operation that is completed with %s for a moment is asked again",
  async (_, said) => {
    const provider = new MockProvider();
    provider.status = () => {
      if (provider.asked === 3) provider.status = null;
      return { status: "completed", ...said };
    };
    expect(await (await openFakeShow()).run(filmBy(provider))).toMatchObject({ status: "succeeded" });
    expect(provider.made).toBe(1);
  },
);

test.each(empties)("one that stays completed with %s is left to a person, with its hold", async (_, said) => {
  const provider = saying({ status: "completed", ...said });
  const world = await openFakeShow();
  const result = await world.run(filmBy(provider));
  expect(result).toMatchObject(LEFT);
  expect(result.report.next?.command).toBe("showrunner adopt x film");
  const asked = provider.asked;
  // A resume asks once more, to no avail, and says the same.
  expect((await world.resume({ pipeline: filmBy(provider) })).report).toMatchObject({ next: result.report.next });
  expect(provider.asked).toBe(asked + 1);
  const file = join(world.outDir, "given.mp4");
  await mkdir(world.outDir, { recursive: true });
  await writeFile(file, TINY_MP4);
  await world.show.adopt("x", "film", file);
  expect(await world.resume({ pipeline: filmBy(provider) })).toMatchObject({
    status: "succeeded",
    report: { held: "0.00" },
  });
});

test("an operation that was left to a person and ended after all is found by a resume", async () => {
  const provider = saying(nothingMade);
  const world = await openFakeShow();
  expect(await world.run(filmBy(provider))).toMatchObject({ status: "paused" });
  provider.status = null;
  expect(await world.resume({ pipeline: filmBy(provider) })).toMatchObject({
    status: "succeeded",
    report: { cost: "0.50" },
  });
  expect(provider.made).toBe(1);
});

test("an operation that was left to a person waits for no code: a resume without its model says the same", async () => {
  const provider = saying(nothingMade);
  const film = filmBy(provider);
  const world = await openFakeShow();
  expect(await world.run(film)).toMatchObject(LEFT);
  expect(await world.resume()).toMatchObject(LEFT);
});

test("in slices, too, an operation that was left to a person waits for no code", async () => {
  const provider = saying(nothingMade);
  const film = filmBy(provider);
  const { show, clock, outDir } = await openFakeShow();
  await show.start(film, {}, { id: "x", outDir });
  const slice = (of: typeof film | null) =>
    during(clock, show.engine.slice("x", { findPipeline: async () => of, anew: true }));
  let ended = await slice(film);
  for (let n = 0; ended.status === "running" && n < 30; n++) {
    await clock.advance(Math.max(0, ended.wakeAt! - clock.now()));
    ended = await slice(film);
  }
  expect(ended).toMatchObject({ status: "paused", driven: { pause: "unresolved" } });
  const asked = provider.asked;
  // A resume by somebody without the code, which an engine then drives.
  const after = await during(clock, show.engine.slice("x", { findPipeline: async () => null, resume: {} }));
  expect(after).toMatchObject({ status: "paused", driven: { pause: "unresolved" } });
  expect(await slice(null)).toMatchObject({ status: "paused" });
  expect(provider.asked).toBe(asked);
});

test("an error of what was accepted more than a day ago is no proof that it failed", async () => {
  const provider = new MockProvider();
  const world = await openFakeShow();
  const right = world.clock.now.bind(world.clock);
  let laterMs = 0;
  world.clock.now = () => right() + laterMs;
  provider.status = () => {
    if (provider.asked === 3) laterMs = 25 * 3_600_000;
    return laterMs === 0 ? { status: "pending" } : { status: "error", error: "no such operation" };
  };
  const result = await world.run(filmBy(provider));
  expect(result).toMatchObject(LEFT);
});

test("a doubt that was dated by a clock a day ahead is believed two minutes after it was set right", async () => {
  const provider = new MockProvider();
  const { clock, run } = await openFakeShow();
  const right = clock.now.bind(clock);
  let aheadMs = 26 * 3_600_000;
  clock.now = () => right() + aheadMs;
  provider.status = () => {
    if (provider.asked === 2) aheadMs = 0;
    return { status: "error", error: "the film failed" };
  };
  const startedAt = right();
  expect(await run(filmBy(provider))).toMatchObject({ status: "failed" });
  expect(right() - startedAt).toBeLessThan(3_600_000);
});

test("an operation that cannot be written down is as good as none: a person decides, and nobody asks for another", async () => {
  const provider = new MockProvider();
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const model = { ...provider.startingVideo(), doStart: async () => ({ operation: cyclic, warnings: [] }) as never };
  const show = pipelineOf("film", ({ generate }) => ({
    film: generate("film", model, { prompt: "a red boat" }, { maxCost: "0.50" }),
  }));
  const result = await (await openFakeShow()).run(show);
  expect(result).toMatchObject(LEFT);
  expect(provider.asked).toBe(0);
});

test("a request that is sent again takes the only slot that there is", async () => {
  const provider = new MockProvider("mock", [{ throws: apiCallError(429, "slow down") }, "made"]);
  const result = await (await openFakeShow()).run(filmBy(provider), {}, { concurrency: 1 });
  expect(result).toMatchObject({ status: "succeeded" });
  expect(provider.requests).toHaveLength(2);
});

describe("an error of a moment is not believed for the time that the clock says has passed since another one", () => {
  const error = { status: "error", error: "Cannot connect to API" };
  const HOURS_MS = 90 * 60_000;

  test("where the clock is set on by hours between two answers", async () => {
    const provider = new MockProvider();
    const world = await openFakeShow();
    const right = world.clock.now.bind(world.clock);
    let aheadMs = 0;
    world.clock.now = () => right() + aheadMs;
    provider.status = () => {
      if (provider.asked === 1) return error;
      aheadMs += HOURS_MS;
      if (provider.asked === 3) provider.status = null;
      return error;
    };
    expect(await world.run(filmBy(provider))).toMatchObject({ status: "succeeded", report: { cost: "0.50" } });
    expect(provider.made).toBe(1);
  });

  test("where the run was stopped for hours between them", async () => {
    const provider = new MockProvider();
    const world = await openFakeShow();
    provider.status = () => error;
    const first = await world.show.run(filmBy(provider), {}, { id: "x", outDir: world.outDir });
    while (provider.asked === 0) await world.clock.advance(250);
    await first.stop();
    expect(await during(world.clock, first.result())).toMatchObject({ status: "paused" });
    await world.clock.advance(HOURS_MS);
    const asked = provider.asked;
    provider.status = () => {
      if (provider.asked > asked) provider.status = null;
      return error;
    };
    expect(await world.resume({ pipeline: filmBy(provider) })).toMatchObject({
      status: "succeeded",
      report: { cost: "0.50" },
    });
  });

  /** Slices, each of them `lateMs` after it was due; whether `anew`, as by a worker that knows nothing of the last one. */
  async function sliced(provider: MockProvider, { lateMs = 0, anew = false }) {
    const world = await openFakeShow();
    await world.show.start(filmBy(provider), {}, { id: "x", outDir: world.outDir });
    for (let slices = 0; slices < 100; slices++) {
      const slice = world.show.engine.slice("x", { findPipeline: async () => filmBy(provider), anew });
      const { status, wakeAt } = await during(world.clock, slice);
      if (status !== "running") return { status, world };
      await world.clock.advance(Math.max(0, (wakeAt ?? 0) - world.clock.now()) + lateMs);
    }
    throw new Error("It was asked for ever.");
  }

  test("where hours lie between two slices", async () => {
    const provider = new MockProvider();
    provider.status = () => {
      if (provider.asked === 3) provider.status = null;
      return error;
    };
    expect(await sliced(provider, { lateMs: HOURS_MS })).toMatchObject({ status: "succeeded" });
    expect(provider.made).toBe(1);
  });

  test.each([
    ["in slices", {}],
    ["in slices that come late", { lateMs: 10 * 60_000 }],
    ["in slices that know nothing of each other", { anew: true }],
  ])("and one that stays is believed %s", async (_, how) => {
    const provider = saying(error);
    const { status, world } = await sliced(provider, how);
    expect(status).toBe("failed");
    expect(provider.asked).toBeLessThan(20);
    const doubts = (await world.journal.read("x")).filter(({ event }) => event.type === "job.doubted");
    expect(doubts.length).toBeLessThan(12);
  });

  test("and one that stays is believed where each process asks once an hour", async () => {
    const provider = saying(error);
    const { clock, show, outDir } = await openFakeShow();
    let run = await show.run(filmBy(provider), {}, { id: "x", outDir });
    let [ended, stops] = ["", 0];
    while (ended !== "failed" && stops++ < 20) {
      const { asked } = provider;
      while (provider.asked === asked) await clock.advance(250);
      await run.stop();
      ended = (await during(clock, run.result())).status;
      await clock.advance(60 * 60_000);
      if (ended !== "failed") run = await show.resume("x", { pipeline: filmBy(provider) });
    }
    expect([ended, stops > 3]).toEqual(["failed", true]);
  });
});
