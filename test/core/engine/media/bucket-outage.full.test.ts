import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { models } from "../../../../recipes/models.ts";
import { type BucketFailure, MediaBucketError } from "../../../../src/core/engine/media/media-errors.ts";
import { plainWav } from "../../../../src/core/kit/placeholder-media.ts";
import {
  createMemoryJournal,
  file,
  type JournalStore,
  openShowrunner,
  pipeline,
  type Showrunner,
} from "../../../../src/index.ts";
import { builtInCatalog } from "../../../support/built-in-catalog.ts";
import { FakeBucket } from "../../../support/fake-bucket.ts";
import { FakePaidService } from "../../../support/fake-paid-service.ts";
import { during } from "../../../support/fake-showrunner.ts";
import { MockProvider } from "../../../support/mock-models.ts";
import { pipelineOf } from "../../../support/pipelines.ts";
import { SimulatedClock } from "../../../support/simulated-clock.ts";

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

const folder = mkdtempSync(join(tmpdir(), "bucket-outage-"));
const sample = join(folder, "sample.wav");
beforeAll(() => writeFileSync(sample, plainWav(1_000)));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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

interface World {
  readonly show: Showrunner;
  readonly journal: JournalStore;
  readonly clock: SimulatedClock;
  readonly paidService: FakePaidService;
  /** Requests and answers of the bucket so far. */
  turns(): number;
  /** From the nth turn on the bucket is away for so long, milliseconds. */
  breakAt(turn: number, forMs: number, reason: BucketFailure): void;
}

let worlds = 0;

async function open(): Promise<World> {
  bucket = new FakeBucket();
  const clock = new SimulatedClock();
  const paidService = new FakePaidService({ catalog: builtInCatalog() });
  paidService.now = () => clock.now();
  const journal = createMemoryJournal({ now: () => clock.now() });
  const mediaDir = join(folder, `machine-${++worlds}`);
  const client = paidService.client();
  const show = await openShowrunner({ client, journal, media: "s3://films", mediaDir, clock, notify: false });
  await show.start(film, { sample }, { id: "x", outDir: join(folder, `out-${worlds}`) });
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
    ...{ show, journal, clock, paidService },
    turns: () => turns,
    breakAt: (from, forMs, reason) => {
      outage = { from, forMs, until: 0, reason };
    },
  };
}

const inSlices = async ({ show, clock }: World) => {
  for (;;) {
    const { status, wakeAt } = await during(clock, show.engine.slice("x", { findPipeline: async () => film }));
    if (wakeAt === null) return status;
    await clock.advance(Math.max(0, wakeAt - clock.now()));
  }
};
const hot = async ({ show, clock }: World) => {
  const work = async () => (await (await show.resume("x", { pipeline: film })).result()).status;
  return during(clock, work());
};

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
      const types = (await world.journal.read("x")).map(({ event }) => event.type);
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
  const told = (await world.journal.read("x")).map(({ event }) => event);
  const message = expect.stringContaining("failed.");
  expect(told).toContainEqual({ type: "service.unavailable", reason: "media", message });
  expect(told).toContainEqual({ type: "run.paused", reason: "unreachable", message });
  world.breakAt(1, 0, "busy");
  expect(await hot(world)).toBe("succeeded");
  expect(world.paidService.submits).toBe(JOBS);
});

test("a bucket that refuses for good stops the run at once, as before", async () => {
  const world = await open();
  world.breakAt(1, Number.POSITIVE_INFINITY, "denied");
  await expect(hot(world)).rejects.toMatchObject({ code: "MEDIA_BUCKET", reason: "denied" });
  world.breakAt(1, 0, "busy");
  expect(await hot(world)).toBe("succeeded");
  expect(world.paidService.submits).toBe(JOBS);
});

test("what a provider made is held on to until its bucket is back", async () => {
  const world = await open();
  const provider = new MockProvider();
  const model = provider.image();
  const painter: typeof model = {
    ...model,
    doGenerate: async (options) => {
      world.breakAt(0, 120_000, "unreachable");
      return model.doGenerate(options);
    },
  };
  const still = pipelineOf("still", ({ generate }) => ({
    still: generate("still", painter, { prompt: "a red boat" }, { maxCost: "0.05" }),
  }));
  const { show, clock } = world;
  const outDir = join(folder, "out-still");
  const result = await during(clock, (await show.run(still, {}, { id: "still", outDir })).result());
  expect(result).toMatchObject({ status: "succeeded" });
  expect(provider.requests).toHaveLength(1);
});
