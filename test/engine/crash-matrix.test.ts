import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { placeholder } from "../../src/engine/placeholders.ts";
import {
  createMemoryJournal,
  file,
  type JournalStore,
  openShowrunner,
  pipeline,
  type RunResult,
} from "../../src/index.ts";
import { builtInCatalog } from "../support/built-in-catalog.ts";
import { Mortal } from "../support/mortal.ts";
import { PaperService } from "../support/paper-service.ts";
import { SimulatedClock } from "../support/simulated-clock.ts";

const catalog = builtInCatalog();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "crash-matrix-"));
  await writeFile(join(folder, "sample.wav"), placeholder("audio", { durationMs: 50 })!);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Every kind of step, with chains, fan-out and fan-in. */
const show = pipeline("matrix", {
  input: z.object({ sample: file("audio") }),
  build({ input, job, upload }) {
    const size = { aspect_ratio: "16:9", resolution: "720p" } as const;
    const voice = job("voice", models.voiceClone, { audio: upload("sample", input.sample), name: "n" });
    const lines = ["One.", "Two.", "Three."].map((text, i) =>
      job(`line-${i}`, models.speech, { text, voice_id: voice }),
    );
    const faces = job("faces", models.image, { prompt: "three faces", num_outputs: 3 });
    const scenes = lines.map((audio, i) =>
      job(`scene-${i}`, models.avatar, { start_image: faces.output(i as 0), audio, prompt: "talks", ...size }),
    );
    const poster = job("poster", models.image, { prompt: "poster", images: faces.outputs() });
    const big = job("big", models.upscale, { image: poster }, { maxCost: "0.10" });
    const film = job("film", models.video, { prompt: "moves", start_image: poster, duration_ms: 3000, ...size });
    return { scenes, poster, big, film, faces: faces.outputs() };
  },
});

interface World {
  readonly paper: PaperService;
  readonly journal: JournalStore;
  readonly media: string;
  readonly out: string;
}

async function newWorld(name: string): Promise<World> {
  const price = (model: string) => (model === "upscale-1" ? null : 100_000);
  const dir = join(folder, name);
  return {
    paper: new PaperService({ catalog, priceMicros: price }),
    journal: createMemoryJournal(),
    media: join(dir, "media"),
    out: join(dir, "out"),
  };
}

/** Runs or resumes in one mortal process; null when it died first. */
async function live(world: World, mortal: Mortal): Promise<RunResult | null> {
  const clock = new SimulatedClock();
  const open = async () => {
    const runner = await openShowrunner({
      client: world.paper.client(mortal.boundary),
      journal: mortal.store(world.journal),
      mediaDir: world.media,
      clock,
    });
    const exists = (await world.journal.run("x")) !== null;
    const handle = exists
      ? await runner.resume("x")
      : await runner.run(show, { sample: join(folder, "sample.wav") }, { id: "x", outDir: world.out, concurrency: 4 });
    return handle.result();
  };
  let over = false;
  const ended = Promise.race([open(), mortal.died.then(() => null)]).finally(() => {
    over = true;
  });
  ended.catch(() => {});
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.pendingTimers > 0) await clock.advance(500);
  }
  return ended;
}

/** What must be the same however often the process died. */
async function facts(world: World, result: RunResult) {
  const ledger = await world.journal.ledger("x");
  const files = result.report.steps.flatMap(({ path, outputs }) =>
    outputs.map(({ index, sha256 }) => [path, index, sha256]),
  );
  const named = await Promise.all(
    result.report.steps.flatMap(({ outputs }) =>
      outputs.flatMap(({ file: name }) => (name === null ? [] : [readFile(join(world.out, name), "utf8")])),
    ),
  );
  return {
    status: result.status,
    jobs: world.paper.jobs.size,
    charged: world.paper.chargedMicros,
    settled: ledger.settledMicros,
    held: ledger.heldMicros,
    cost: result.cost.micros,
    files,
    named: named.sort(),
  };
}

test("killed at every journal append and every request boundary, a run resumes to the same end and pays once", async () => {
  const calm = await newWorld("calm");
  const whole = new Mortal(Number.POSITIVE_INFINITY);
  const first = await live(calm, whole);
  const expected = await facts(calm, first!);
  expect(expected).toMatchObject({ status: "succeeded", jobs: 11, held: 0 });
  expect(expected.charged).toBe(expected.settled);
  expect(expected.named).toHaveLength(9);

  for (let point = 1; point <= whole.count; point++) {
    const world = await newWorld(`at-${point}`);
    const killed = await live(world, new Mortal(point));
    const result = killed ?? (await live(world, new Mortal(Number.POSITIVE_INFINITY)));
    expect(await facts(world, result!), `killed at ${point}: ${whole.points[point - 1]}`).toEqual(expected);
  }
  console.log(`crash matrix: ${whole.count} points, each resumed to the same ${expected.jobs} jobs and files`);
}, 300_000);
