import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { createClient, createMemoryJournal, openShowrunner, pipeline, type RunResult } from "../../src/index.ts";
import { type FaultRule, type LocalService, startLocalService } from "../../src/local-service/index.ts";
import { Mortal } from "../support/mortal.ts";
import { skippingClock } from "../support/simulated-clock.ts";

const seeds = Number(process.env.SHOWRUNNER_TEST_RUNS ?? 0) > 0 ? 5000 : 200;

let service: LocalService;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chaos-"));
  service = await startLocalService({
    renderer: "stub",
    balance: 100_000,
    rateLimit: { requests: 1_000_000, windowMs: 60_000 },
    dataDir: join(folder, "service"),
  });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

const show = pipeline("chaos", {
  input: z.object({}),
  build({ job }) {
    const face = job("face", models.image, { prompt: "a face", num_outputs: 2 });
    const other = job("other", models.image, { prompt: "another" });
    const mix = job("mix", models.image, { prompt: "both", images: [face.output(1), other] });
    const film = job("film", models.video, {
      prompt: "moves",
      start_image: mix,
      aspect_ratio: "16:9",
      duration_ms: 3000,
    });
    return { film, faces: face.outputs() };
  },
});
const PAID_STEPS = 4;

/** Everything that a service which keeps its keys may do to a client. */
const faults: readonly FaultRule[] = [
  { kind: "drop", when: "before", probability: 0.06 },
  { kind: "drop", when: "after", probability: 0.06 },
  { kind: "error", code: "RESOURCE_EXHAUSTED", retry_after: 1, probability: 0.04 },
  { kind: "error", code: "UNAVAILABLE", retry_after: 1, probability: 0.04 },
  { kind: "error", code: "INTERNAL", status: 502, envelope: false, probability: 0.04 },
  { kind: "cut_stream", after_frames: 1, clean: false, probability: 0.2 },
  { kind: "cut_stream", after_frames: 2, clean: true, probability: 0.2 },
  { kind: "truncate_download", bytes: 20, probability: 0.2 },
];

/** Small numbers from a seed, so that a run which failed can be run again. */
function dice(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return state / 2 ** 32;
  };
}

async function live(world: World, mortal: Mortal): Promise<RunResult | null> {
  const { baseUrl, apiKey } = service;
  const client = createClient({ baseUrl, apiKey, clock: world.clock, random: world.random, timeoutMs: 10_000 });
  const open = async () => {
    const runner = await openShowrunner({
      client,
      journal: mortal.store(world.journal),
      mediaDir: world.media,
      clock: world.clock,
    });
    const handle =
      (await world.journal.run(world.id)) === null
        ? await runner.run(show, {}, { id: world.id, outDir: world.out, budget: "100" })
        : await runner.resume(world.id);
    return handle.result();
  };
  const alive = open();
  alive.catch(() => {});
  try {
    return await Promise.race([alive, mortal.died.then(() => null)]);
  } finally {
    // What the dead process had under way breaks off with it.
    await client.close();
  }
}

interface World {
  readonly id: string;
  readonly journal: ReturnType<typeof createMemoryJournal>;
  readonly media: string;
  readonly out: string;
  readonly clock: ReturnType<typeof skippingClock>;
  readonly random: () => number;
}

test(`${seeds} seeded runs under combined faults, each killed once: one job a step, nothing lost, the ledger equals the wallet`, async () => {
  let killed = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const random = dice(seed);
    const dir = join(folder, String(seed));
    const world: World = {
      id: `chaos-${seed}`,
      journal: createMemoryJournal(),
      media: join(dir, "media"),
      out: join(dir, "out"),
      clock: skippingClock(),
      random,
    };
    const before = service.stats();
    service.faults(faults, seed);
    const first = await live(world, new Mortal(1 + Math.floor(random() * 60))).catch((error: unknown) => error);
    if (first === null) killed++;
    service.faults([]);
    const result = (await live(world, new Mortal(Number.POSITIVE_INFINITY)))!;
    const after = service.stats();
    const ledger = await world.journal.ledger(world.id);
    const facts = {
      status: result.status,
      jobs: after.jobs_created - before.jobs_created,
      charged: after.charged_micros - before.charged_micros,
      held: ledger.heldMicros,
      missing: result.report.steps.flatMap(({ outputs }) => outputs.filter(({ sha256 }) => sha256 === null)),
    };
    expect(facts, `seed ${seed}`).toEqual({
      status: "succeeded",
      jobs: PAID_STEPS,
      charged: ledger.settledMicros,
      held: 0,
      missing: [],
    });
    await rm(dir, { recursive: true, force: true });
  }
  console.log(
    `chaos: ${seeds} seeds, ${killed} killed in mid-run, ${service.stats().replayed_submits} submits replayed`,
  );
  expect(killed).toBeGreaterThan(seeds / 2);
}, 3_600_000);
