import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type BucketFailure, MediaBucketError } from "../../../../src/core/engine/media/media-errors.ts";
import { file, pipeline } from "../../../../src/index.ts";
import {
  eventsOf,
  MockProvider,
  models,
  newFolder,
  openFakeShow,
  pipelineOf,
  plainWav,
} from "../../../support/engine.ts";
import { FakeBucket } from "../../../support/fake-bucket.ts";

let bucket = new FakeBucket();
vi.mock("../../../../src/core/engine/media/bucket/s3-bucket.ts", () => ({
  connectS3: async () => null,
  S3Bucket: class {
    constructor() {
      // biome-ignore lint/correctness/noConstructorReturn: stands for the bucket of the test
      return bucket;
    }
  },
}));
vi.setConfig({ testTimeout: 120_000 });

const sample = join(newFolder(), "sample.wav");
beforeAll(() => writeFileSync(sample, plainWav(1_000)));

/** Every use of media: a file that is uploaded, outputs, a function that reads and writes, named files. */
const film = pipeline("film", {
  input: z.object({ sample: file("audio") }),
  build({ input, job, task, upload }) {
    const sound = upload("sound", input.sample);
    const look = job("look", models.image, { prompt: "look" });
    const scene = job("scene", models.image, { prompt: "scene", images: [look] });
    const cut = task(
      "cut",
      { scene, sound },
      ({ sound, scene }, { file }) =>
        writeFileSync(file("cut"), readFileSync(sound.path).subarray(0, scene.path === null ? 0 : undefined)),
      { files: { cut: "audio" } },
    );
    return { scene, cut };
  },
});
const JOBS = 2;

type World = Awaited<ReturnType<typeof open>>;

async function open() {
  bucket = new FakeBucket();
  const world = await openFakeShow({ open: { media: "s3://films" } });
  const { clock, show, outDir } = world;
  await show.start(film, { sample }, { id: "x", outDir });
  let turns = 0;
  let outage = { from: Number.POSITIVE_INFINITY, forMs: 0, until: 0, reason: "busy" as BucketFailure };
  bucket.turn = async (request) => {
    turns++;
    if (turns < outage.from) return;
    if (outage.until === 0) outage.until = clock.now() + outage.forMs;
    if (clock.now() >= outage.until) return;
    throw new MediaBucketError(`${request} failed.`, { reason: outage.reason, next: "showrunner doctor" });
  };
  return {
    ...world,
    /** Requests and answers of the bucket so far. */
    turns: () => turns,
    /** From the nth turn on the bucket is away for so long, milliseconds. */
    breakAt: (from: number, forMs: number, reason: BucketFailure) => {
      outage = { from, forMs, until: 0, reason };
    },
  };
}

const inSlices = async ({ drive }: World) => (await drive({ findPipeline: async () => film })).at(-1)!.status;
const hot = async ({ resume }: World) => (await resume({ pipeline: film })).status;

/**
 * Mostly one pair. Files take real time, and the clock of the test does not wait for them: a failure of before the
 * bucket was back may be noted after another step has found it there.
 */
function expectToldInTurns(types: readonly string[]): void {
  const told = types.filter((type) => type === "service.unavailable" || type === "service.recovered");
  expect(told.length).toBeGreaterThan(0);
  expect(told.length % 2).toBe(0);
  for (const [index, type] of told.entries()) {
    expect(type).toBe(index % 2 === 0 ? "service.unavailable" : "service.recovered");
  }
}

describe.each([
  ["in slices", inSlices],
  ["in one process", hot],
] as const)("A run %s whose bucket goes away for a minute", (_, drive) => {
  test("at any request or answer waits and goes on: each job is paid once, no output is lost [G15]", async () => {
    const undisturbed = await open();
    expect(await drive(undisturbed)).toBe("succeeded");
    const turns = undisturbed.turns();
    expect(turns).toBeGreaterThanOrEqual(20);
    for (let turn = 1; turn <= turns; turn++) {
      const world = await open();
      world.breakAt(turn, 60_000, turn % 2 === 0 ? "busy" : "unreachable");
      expect([turn, await drive(world)]).toEqual([turn, "succeeded"]);
      expect([turn, world.paidService.jobs.size, world.paidService.submits]).toEqual([turn, JOBS, JOBS]);
      const types = (await eventsOf(world)).map(({ type }) => type);
      expectToldInTurns(types);
      expect(types.filter((type) => ["task.failed", "run.paused", "job.unresolved"].includes(type))).toEqual([]);
      const { steps } = await world.show.show("x");
      for (const { outputs } of steps) for (const { sha256 } of outputs) expect(sha256).not.toBeNull();
      await world.show.close();
    }
  });
});

test("a bucket that stays away pauses a run that a person waits for; resumed, it goes on", async () => {
  const world = await open();
  world.breakAt(1, Number.POSITIVE_INFINITY, "unreachable");
  expect(await hot(world)).toBe("paused");
  const told = await eventsOf(world);
  const message = expect.stringContaining("failed.");
  expect(told).toContainEqual({ type: "service.unavailable", reason: "media", message });
  expect(told).toContainEqual({ type: "run.paused", reason: "unreachable", message });
  world.breakAt(1, 0, "busy");
  expect([await hot(world), world.paidService.submits]).toEqual(["succeeded", JOBS]);
});

test("a bucket that refuses for good stops the run at once, as before", async () => {
  const world = await open();
  world.breakAt(1, Number.POSITIVE_INFINITY, "denied");
  await expect(hot(world)).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "denied" });
  world.breakAt(1, 0, "busy");
  expect([await hot(world), world.paidService.submits]).toEqual(["succeeded", JOBS]);
});

test("what a provider made is held on to until its bucket is back", async () => {
  const world = await open();
  const provider = new MockProvider();
  const model = provider.image();
  const doGenerate: typeof model.doGenerate = async (options) => {
    world.breakAt(0, 120_000, "unreachable");
    return model.doGenerate(options);
  };
  const painter = { ...model, doGenerate };
  const still = pipelineOf("still", ({ generate }) => ({
    still: generate("still", painter, { prompt: "a red boat" }, { maxCost: "0.05" }),
  }));
  expect((await world.run(still, {}, { id: "still" })).status).toBe("succeeded");
  expect(provider.requests).toHaveLength(1);
});
