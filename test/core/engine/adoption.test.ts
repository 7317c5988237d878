import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { RunPlanned } from "../../../src/core/journal/events.ts";
import { createMemoryJournal, pipeline } from "../../../src/index.ts";
import { type FakeShow, models, openFakeShow, pictures, unanswered } from "../../support/engine.ts";

const minutes = 60_000;

interface Trouble {
  /** Whether a send that is not answered makes the job, at so many milliseconds after the first one. */
  readonly arrives?: (afterMs: number) => boolean;
  /** How far the service's clock is ahead, milliseconds. */
  readonly aheadMs?: number;
  readonly idempotencyWindowMs?: number;
  /** False if no response says what the service's clock is. */
  readonly knowsClock?: boolean;
  /** True if the service reports the keys of jobs. */
  readonly hasKeys?: boolean;
}

/** A world whose submits are never answered until `answers` is called. */
async function silent({
  arrives = () => true,
  aheadMs = 0,
  idempotencyWindowMs = 1000,
  knowsClock = true,
  hasKeys = false,
}: Trouble = {}) {
  let silence = true;
  let firstAt: number | null = null;
  const world = await openFakeShow({
    open: { idempotencyWindowMs },
    client: ({ submit, job }) => ({
      clockOffsetMs: () => (knowsClock ? aheadMs : 0),
      job: async (jobId, options) => {
        const found = await job(jobId, options);
        return !hasKeys ? found : { ...found, idempotencyKey: world.paidService.jobs.get(jobId)!.key };
      },
      submit: async (request, options) => {
        firstAt ??= world.clock.now();
        if (!silence) return submit(request, options);
        if (arrives(world.clock.now() - firstAt)) await submit(request, options);
        throw unanswered(request.model, request.idempotencyKey);
      },
    }),
  });
  world.paidService.now = () => world.clock.now() + aheadMs;
  const answers = () => {
    silence = false;
  };
  return { ...world, answers };
}

/** Drives until nobody knows what became of the submits. */
async function unresolved(world: FakeShow, count: number, made = pictures) {
  expect((await world.run(made, { count }, { concurrency: 50, giveUpAfterMs: 24 * 60 * minutes })).pause?.reason).toBe(
    "unresolved",
  );
}

describe("The job of an unanswered submit", () => {
  test("is found when a re-send created it 40 minutes after the first send [G5]", async () => {
    const world = await silent({ arrives: (afterMs) => afterMs >= 40 * minutes, idempotencyWindowMs: 45 * minutes });
    await unresolved(world, 1);
    const [job] = world.paidService.jobs.values();
    const [open] = await world.show.unresolved("x");
    const [jobId, prompt] = [job!.jobId, "picture number 0"];
    const candidates = [{ jobId, prompt, match: "prompt", costMicros: 100_000 }];
    expect(open).toMatchObject({ step: "p0", prompt, certain: jobId, holdMicros: 100_000, candidates });
  });

  test.each([20, -20])("is found with the service's clock %i minutes ahead [G5]", async (ahead) => {
    const world = await silent({ aheadMs: ahead * minutes });
    await unresolved(world, 1);
    const [open] = await world.show.unresolved("x");
    expect(open!.candidates).toHaveLength(1);
    expect(Date.parse(open!.sentFrom)).toBeLessThanOrEqual(world.clock.now() + ahead * minutes);
  });

  test.each([true, false])("is listed if the service's clock was unknown when it was sent [G5]", async (hasKeys) => {
    const world = await silent({ aheadMs: 25 * 60 * minutes, knowsClock: false, hasKeys });
    await unresolved(world, 1);
    const [job] = world.paidService.jobs.values();
    const [open] = await world.show.unresolved("x");
    expect(open!.candidates).toMatchObject([{ jobId: job!.jobId, match: hasKeys ? "key" : "prompt" }]);
    expect(open!.certain).toBe(hasKeys ? job!.jobId : null);
  });

  test("is listed first among 31 jobs, and adopted without paying again [G5]", async () => {
    const world = await silent();
    await unresolved(world, 30);
    const stray = { model: models.image.id, input: { prompt: "picture number 99" }, idempotencyKey: "another's" };
    await world.paidService.client().submit(stray);
    const open = await world.show.unresolved("x");
    for (const { step, certain, candidates } of open) {
      const [first, ...others] = candidates;
      expect([first!.jobId, others.length]).toEqual([certain, 30]);
      expect(JSON.parse(world.paidService.jobs.get(first!.jobId)!.body).prompt).toBe(`picture number ${step.slice(1)}`);
      expect(others.every(({ match }) => match === "unlike")).toBe(true);
      await world.show.adopt("x", step, first!.jobId);
    }
    // Said once: whoever looks again sees it.
    expect((await world.show.unresolved("x")).every(({ decided }) => decided !== null)).toBe(true);
    world.answers();
    expect([(await world.resume()).status, world.paidService.jobs.size]).toEqual(["succeeded", 31]);
  });

  test("is not listed where no job was created", async () => {
    const world = await silent({ arrives: () => false });
    await unresolved(world, 2);
    expect((await world.show.unresolved("x")).map(({ candidates }) => candidates)).toEqual([[], []]);
  });
});

test("A job that a person adopted and then gave up is listed again, and another step may adopt it [G5]", async () => {
  const world = await silent();
  await unresolved(world, 2);
  const [jobId] = [...world.paidService.jobs.keys()];
  const listing = async () =>
    (await world.show.unresolved("x")).map(({ candidates }) => candidates.some((job) => job.jobId === jobId));
  await world.show.adopt("x", "p0", jobId!);
  expect(await listing()).toEqual([false, false]);
  await world.show.adopt("x", "p0", null);
  expect(await listing()).toEqual([true, true]);
  await world.show.adopt("x", "p1", jobId!);
});

test("18 steps of a journal that was put back are adopted by their keys [G5]", async () => {
  const world = await openFakeShow();
  const { clock, paidService } = world;
  await world.run(pictures, { count: 18 });
  await clock.advance(26 * 60 * minutes);
  // The copy knows that the run was planned, and nothing of what it made.
  const [first] = await world.journal.read("x");
  const journal = createMemoryJournal({ now: () => clock.now() });
  await journal.createRun("x", first!.event as RunPlanned, first!.at);
  const { show, resume } = await openFakeShow({ paidService, journal, mediaDir: world.mediaDir, clock });
  expect((await resume()).pause?.reason).toBe("unresolved");
  const open = await show.unresolved("x");
  expect(open).toHaveLength(18);
  for (const { step, certain, candidates } of open) {
    expect(candidates[0]).toMatchObject({ match: "key", jobId: certain });
    await show.adopt("x", step, certain);
  }
  expect([(await resume()).status, paidService.jobs.size]).toEqual(["succeeded", 18]);
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
  const one = { certain: null, candidates: [{}] };
  expect(open).toMatchObject([one, one]);
});
