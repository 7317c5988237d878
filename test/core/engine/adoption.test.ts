import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { type Client, ConnectionError, UnknownOutcomeError } from "../../../src/core/api/index.ts";
import type { RunPlanned } from "../../../src/core/journal/events.ts";
import { createMemoryJournal, openShowrunner, pipeline, type Showrunner } from "../../../src/index.ts";
import { builtInCatalog } from "../../support/built-in-catalog.ts";
import { FakePaidService } from "../../support/fake-paid-service.ts";
import { during, type FakeShow, openFakeShow } from "../../support/fake-showrunner.ts";

const minutes = 60_000;

const pictures = pipeline("pictures", {
  input: z.object({ count: z.number() }),
  build({ input, job }) {
    for (let i = 0; i < input.count; i++)
      job(`p${i}`, models.image, { prompt: `picture number ${i}` }, { keep: false });
    return {};
  },
});

interface Trouble {
  /** Whether a send that is not answered makes the job, at so many milliseconds after the first one. */
  readonly arrives?: (afterMs: number) => boolean;
  /** How far the service's clock is ahead, milliseconds. */
  readonly aheadMs?: number;
  readonly idempotencyWindowMs?: number;
}

/** A world whose submits are never answered until `answers` is called. */
async function silent({ arrives = () => true, aheadMs = 0, idempotencyWindowMs = 1000 }: Trouble = {}) {
  const paidService = new FakePaidService({ catalog: builtInCatalog() });
  const base = await openFakeShow({ paidService: paidService });
  const { clock } = base;
  paidService.now = () => clock.now() + aheadMs;
  const client = paidService.client();
  let silence = true;
  let firstAt: number | null = null;
  const submit: Client["submit"] = async (request, options) => {
    firstAt ??= clock.now();
    if (!silence) return client.submit(request, options);
    if (arrives(clock.now() - firstAt)) await client.submit(request, options);
    const cause = new ConnectionError("the connection broke", { sent: true });
    throw new UnknownOutcomeError({ model: request.model, idempotencyKey: request.idempotencyKey ?? "", cause });
  };
  const show = await openShowrunner({
    client: { ...client, submit, clockOffsetMs: () => aheadMs },
    ...{ journal: base.journal, mediaDir: base.mediaDir, clock, idempotencyWindowMs },
  });
  const answers = () => {
    silence = false;
  };
  return { ...base, show, answers };
}

/** Drives until nobody knows what became of the submits. */
async function unresolved(world: FakeShow, count: number, made = pictures) {
  expect((await world.run(made, { count }, { concurrency: 50, giveUpAfterMs: 24 * 60 * minutes })).pause?.reason).toBe(
    "unresolved",
  );
}

const finish = async (world: { readonly clock: FakeShow["clock"] }, show: Showrunner) =>
  during(world.clock, (await during(world.clock, show.resume("x"))).result());

describe("The job of an unanswered submit", () => {
  test("is found when a re-send created it 40 minutes after the first send [G5]", async () => {
    const world = await silent({ arrives: (afterMs) => afterMs >= 40 * minutes, idempotencyWindowMs: 45 * minutes });
    await unresolved(world, 1);
    const [job] = world.paidService.jobs.values();
    const [open] = await world.show.unresolved("x");
    expect(open).toMatchObject({ step: "p0", prompt: "picture number 0", certain: job!.jobId, holdMicros: 100_000 });
    expect(open!.candidates).toMatchObject([
      { jobId: job!.jobId, prompt: "picture number 0", match: "prompt", costMicros: 100_000 },
    ]);
  });

  test.each([20, -20])("is found with the service's clock %i minutes ahead [G5]", async (ahead) => {
    const world = await silent({ aheadMs: ahead * minutes });
    await unresolved(world, 1);
    const [open] = await world.show.unresolved("x");
    expect(open!.candidates).toHaveLength(1);
    expect(Date.parse(open!.sentFrom)).toBeLessThanOrEqual(world.clock.now() + ahead * minutes);
  });

  test("is listed first among 31 jobs, and adopted without paying again [G5]", async () => {
    const world = await silent();
    await unresolved(world, 30);
    const stray = await world.paidService.client().submit({
      model: models.image.id,
      input: { prompt: "picture number 99" },
      idempotencyKey: "another program's",
    });
    const open = await world.show.unresolved("x");
    for (const { step, certain, candidates } of open) {
      expect(candidates).toHaveLength(31);
      expect(candidates[0]!.jobId).toBe(certain);
      const [first, ...others] = candidates;
      expect(JSON.parse(world.paidService.jobs.get(first!.jobId)!.body).prompt).toBe(`picture number ${step.slice(1)}`);
      expect(others.every(({ match }) => match === "unlike")).toBe(true);
      expect(first!.jobId).not.toBe(stray.jobId);
      await world.show.adopt("x", step, first!.jobId);
    }
    // Said once: whoever looks again sees it.
    expect((await world.show.unresolved("x")).every(({ decided }) => decided !== null)).toBe(true);
    world.answers();
    expect((await finish(world, world.show)).status).toBe("succeeded");
    expect(world.paidService.jobs.size).toBe(31);
  });

  test("is not listed where no job was created", async () => {
    const world = await silent({ arrives: () => false });
    await unresolved(world, 2);
    expect((await world.show.unresolved("x")).map(({ candidates }) => candidates)).toEqual([[], []]);
  });
});

test("18 steps of a journal that was put back are adopted by their keys [G5]", async () => {
  const world = await openFakeShow();
  const { clock, paidService } = world;
  const run = await during(clock, world.show.run(pictures, { count: 18 }, { id: "x", outDir: world.outDir }));
  await during(clock, run.result());
  await clock.advance(26 * 60 * minutes);
  // The copy knows that the run was planned, and nothing of what it made.
  const [first] = await world.journal.read("x");
  const journal = createMemoryJournal({ now: () => clock.now() });
  await journal.createRun("x", first!.event as RunPlanned, first!.at);
  const show = await openShowrunner({ client: paidService.client(), journal, mediaDir: world.mediaDir, clock });
  expect((await finish(world, show)).pause?.reason).toBe("unresolved");
  const open = await show.unresolved("x");
  expect(open).toHaveLength(18);
  for (const { step, certain, candidates } of open) {
    expect(candidates[0]).toMatchObject({ match: "key", jobId: certain });
    await show.adopt("x", step, certain);
  }
  expect((await finish(world, show)).status).toBe("succeeded");
  expect(paidService.jobs.size).toBe(18);
});

test("One job for two steps with the same words is certain for neither [G5]", async () => {
  const twins = pipeline("pictures", {
    input: z.object({ count: z.number() }),
    build({ job }) {
      for (const name of ["left", "right"]) job(name, models.image, { prompt: "a twin" }, { keep: false });
      return {};
    },
  });
  let arrived = 0;
  const world = await silent({ arrives: () => ++arrived === 1 });
  await unresolved(world, 2, twins);
  const open = await world.show.unresolved("x");
  expect(open.map(({ certain, candidates }) => [certain, candidates.length])).toEqual([
    [null, 1],
    [null, 1],
  ]);
});
