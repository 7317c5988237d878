import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Pipeline, pipeline, type RunResult } from "../../src/index.ts";
import { during, type FakeShow, openFakeShow } from "../support/fake-showrunner.ts";
import { apiCallError, MockProvider } from "../support/mock-models.ts";
import { TINY_MP4 } from "../support/tiny-media.ts";

function film(provider: MockProvider): Pipeline {
  return pipeline("film", {
    input: z.object({}),
    build: ({ generate }) => ({
      film: generate("film", provider.startingVideo(), { prompt: "a red boat" }, { maxCost: "0.50" }),
    }),
  });
}

async function ran(world: FakeShow, of: Pipeline, more: object = {}): Promise<RunResult> {
  return during(world.clock, (await world.show.run(of, {}, { id: "x", outDir: world.outDir, ...more })).result());
}

async function resumed(world: FakeShow, of: Pipeline): Promise<RunResult> {
  return during(world.clock, (await world.show.resume("x", { pipeline: of })).result());
}

const video = (data: Uint8Array) => ({ type: "binary", data, mediaType: "video/mp4" });
const empties = [
  ["nothing", { videos: [] }],
  ["no list at all", {}],
  ["an empty file", { videos: [video(new Uint8Array())] }],
  ["what is no film", { videos: [video(new TextEncoder().encode("<html>Sign in</html>"))] }],
] as const;

// What is measured in a thread takes real time, in which simulated time would pass.
test.each(empties.slice(0, 3))(
  "an operation that is completed with %s for a moment is asked again",
  async (_, said) => {
    const provider = new MockProvider();
    provider.status = () => {
      if (provider.asked === 3) provider.status = null;
      return { status: "completed", ...said };
    };
    expect(await ran(await openFakeShow(), film(provider))).toMatchObject({ status: "succeeded" });
    expect(provider.made).toBe(1);
  },
);

test.each(empties)("one that stays completed with %s is left to a person, with its hold", async (_, said) => {
  const provider = new MockProvider();
  provider.status = () => ({ status: "completed", ...said });
  const world = await openFakeShow();
  const result = await ran(world, film(provider));
  expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
  expect(result.report.next?.command).toBe("showrunner adopt x film");
  const asked = provider.asked;
  // A resume asks once more, to no avail, and says the same.
  expect((await resumed(world, film(provider))).report).toMatchObject({ next: result.report.next });
  expect(provider.asked).toBe(asked + 1);
  const file = join(world.outDir, "given.mp4");
  await mkdir(world.outDir, { recursive: true });
  await writeFile(file, TINY_MP4);
  await world.show.adopt("x", "film", file);
  expect(await resumed(world, film(provider))).toMatchObject({ status: "succeeded", report: { held: "0.00" } });
});

test("an operation that was left to a person and ended after all is found by a resume", async () => {
  const provider = new MockProvider();
  provider.status = () => ({ status: "completed", videos: [] });
  const world = await openFakeShow();
  expect(await ran(world, film(provider))).toMatchObject({ status: "paused" });
  provider.status = null;
  expect(await resumed(world, film(provider))).toMatchObject({ status: "succeeded", report: { cost: "0.50" } });
  expect(provider.made).toBe(1);
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
  const result = await ran(world, film(provider));
  expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
});

test("a doubt that was dated by a clock a day ahead is believed two minutes after it was set right", async () => {
  const provider = new MockProvider();
  const world = await openFakeShow();
  const { clock } = world;
  const right = clock.now.bind(clock);
  let aheadMs = 26 * 3_600_000;
  clock.now = () => right() + aheadMs;
  provider.status = () => {
    if (provider.asked === 2) aheadMs = 0;
    return { status: "error", error: "the film failed" };
  };
  const startedAt = right();
  expect(await ran(world, film(provider))).toMatchObject({ status: "failed" });
  expect(right() - startedAt).toBeLessThan(3_600_000);
});

test("an operation that cannot be written down is as good as none: a person decides, and nobody asks for another", async () => {
  const provider = new MockProvider();
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const model = { ...provider.startingVideo(), doStart: async () => ({ operation: cyclic, warnings: [] }) as never };
  const show = pipeline("film", {
    input: z.object({}),
    build: ({ generate }) => ({ film: generate("film", model, { prompt: "a red boat" }, { maxCost: "0.50" }) }),
  });
  const result = await ran(await openFakeShow(), show);
  expect(result).toMatchObject({ status: "paused", pause: { reason: "unresolved" }, report: { held: "0.50" } });
  expect(provider.asked).toBe(0);
});

test("a request that is sent again takes the only slot that there is", async () => {
  const provider = new MockProvider("mock", [{ throws: apiCallError(429, "slow down") }, "made"]);
  const result = await ran(await openFakeShow(), film(provider), { concurrency: 1 });
  expect(result).toMatchObject({ status: "succeeded" });
  expect(provider.requests).toHaveLength(2);
});
