import { describe, expect, test } from "vitest";
import { noticesOf } from "../../../src/core/engine/notify/notifications.ts";
import type { SliceOptions } from "../../../src/core/engine/slice/run-slices.ts";
import { fold } from "../../../src/core/journal/events.ts";
import { failed, openShowrunner, type Pipeline, type RunResult } from "../../../src/index.ts";
import { apiError, during, type FakeShow, models, openFakeShow, pipelineOf, settle } from "../../support/engine.ts";
import { MockProvider } from "../../support/mock-models.ts";
import { mortalProcess } from "../../support/mortal-process.ts";
import { stepOf, whysOf } from "../../support/run-facts.ts";

const MINUTE_MS = 60_000;

/** A picture that is waited for ten minutes, one that needs it, and one that needs nothing. */
const chain = pipelineOf("chain", ({ job }) => {
  const a = job("a", models.image, { prompt: "a" }, { within: "10m" });
  return { b: job("b", models.image, { prompt: "b", images: [a] }), c: job("c", models.image, { prompt: "c" }) };
});

/** Two pictures, of which the second is a second choice. */
const either = pipelineOf("either", ({ firstOf, job }) => {
  const face = firstOf("face", [
    (b) => b.job("a", models.image, { prompt: "a" }, { within: "10m" }),
    (b) => b.job("b", models.image, { prompt: "b", quality: "pro" }),
  ]);
  return { face, film: job("film", models.image, { prompt: "film", images: [face] }) };
});

/** A service whose job of the prompt takes so many minutes; every other one takes 10 seconds. */
function slow(minutes: Readonly<Record<string, number>>, options: Parameters<typeof openFakeShow>[0] = {}) {
  const takesMs = (body: string) => {
    const [, prompt = ""] = /"(?:prompt|content)":"(\w+)"/.exec(body) ?? [];
    return minutes[prompt] === undefined ? 10_000 : minutes[prompt] * MINUTE_MS;
  };
  return openFakeShow({ ...options, takesMs });
}

/** A run on it that was started and not driven yet. */
async function started(of: Pipeline, minutes: Readonly<Record<string, number>>): Promise<FakeShow> {
  const world = await slow(minutes);
  await world.show.start(of, {}, { id: "x", outDir: world.outDir });
  return world;
}

async function ran(world: FakeShow, of: Pipeline): Promise<RunResult> {
  return world.run(of, {}, {}, 5_000);
}

async function resumed(world: FakeShow, how: Parameters<FakeShow["show"]["resume"]>[1] = {}): Promise<RunResult> {
  return world.resume(how, 5_000);
}

const timesOf = async ({ journal }: FakeShow, type: string) =>
  (await journal.read("x")).filter(({ event }) => event.type === type).length;

describe("a job that is not there within its time", () => {
  test("is awaited although the run decided against it, if another step waits for its bill", async () => {
    const world = await slow({ a: 600 }, { shows: () => ({ costMicros: 200_000 }) });
    const result = await ran(world, either);
    expect(result.pause?.reason).toBe("late");
    expect(result.pause?.message).toContain("face/1/a has not finished");
    expect(whysOf(result)).toMatchObject({ "face/pick": expect.stringContaining("succeeded"), film: "waiting: null" });
    await world.clock.advance(600 * MINUTE_MS);
    expect((await resumed(world)).status).toBe("succeeded");
  });

  test("waits with its later steps for the bill of the next option, and the run says so", async () => {
    let bill: number | null = null;
    const world = await slow(
      { mood: 12 },
      {
        fails: (_, body) => (body.includes('"b"') ? { code: "INTERNAL", retryable: false } : null),
        shows: ({ error }) => (error === null ? {} : { costMicros: bill }),
      },
    );
    const twoSteps = pipelineOf("two-steps", ({ firstOf }) => ({
      face: firstOf("face", [
        (b) => {
          const mood = b.job("mood", models.image, { prompt: "mood" }, { within: "10m" });
          return b.job("a", models.image, { prompt: "a", images: [mood] });
        },
        (b) => b.job("b", models.image, { prompt: "b", quality: "pro" }),
      ]),
    }));
    const result = await ran(world, twoSteps);
    expect(result.pause?.reason).toBe("unresolved");
    expect(result.pause?.message).toContain("face/2/b failed, and it is not yet known whether it was charged");
    expect(whysOf(result)).toMatchObject({ "face/1/mood": "succeeded: null", "face/1/a": "waiting: null" });
    bill = 0;
    expect((await resumed(world)).status).toBe("succeeded");
  });

  test("pauses the run once nothing else is left to do, and says for what, since when and how it goes on", async () => {
    const world = await slow({ a: 600 });
    const result = await ran(world, chain);
    expect([result.status, result.pause?.reason]).toEqual(["paused", "late"]);
    expect(result.pause?.message).toMatch(
      /^a has not finished after [\w ]+; job job_1 is still being polled, and 0\.10 USD stays reserved\. To keep waiting, run: showrunner resume x$/,
    );
    expect(whysOf(result)).toMatchObject({ a: "running: null", b: "waiting: null", c: "succeeded: null" });
    expect(result.report.held).toBe("0.10");
    expect((await world.show.show("x")).steps[0]).toMatchObject({
      status: "running",
      late: { since: expect.any(String), expected_ms: 10_000, learned: false, within_ms: 600_000, job_id: "job_1" },
    });
  });

  test("is waited for once more by whoever resumes the run, at no second price, and pauses it again where that was not enough", async () => {
    const world = await slow({ a: 25 });
    await ran(world, chain);
    const from = world.clock.now();
    const again = await resumed(world);
    expect(again.pause?.reason).toBe("late");
    expect(world.clock.now() - from).toBeGreaterThanOrEqual(10 * MINUTE_MS);
    expect(await resumed(world)).toMatchObject({ status: "succeeded", report: { cost: "0.30" } });
    expect([...world.paidService.jobs.values()].map(({ body }) => JSON.parse(body).prompt)).toEqual(["a", "c", "b"]);
  });

  test.each([15, 60])("is made anew by whoever edits it, once that of %d minutes has ended", async (minutes) => {
    const world = await slow({ a: minutes });
    await ran(world, chain);
    await world.clock.advance(20 * MINUTE_MS);
    const result = await resumed(world, { pipeline: chain, acceptChanges: true, edit: { a: { prompt: "z" } } });
    expect(result.status).toBe("succeeded");
    expect(stepOf(result, "a").attempts).toHaveLength(2);
    expect(result.report.held).toBe("0.00");
  });
});

test("a machine whose clock is behind waits once more for a job all the same", async () => {
  const world = await slow({ a: 15 });
  await ran(world, chain);
  const { paidService, journal, mediaDir, clock } = world;
  const behind = {
    now: () => clock.now() - 90 * MINUTE_MS,
    setTimer: (ms: number, fire: () => void) => clock.setTimer(ms, fire),
  };
  const other = await openShowrunner({ client: paidService.client(), journal, mediaDir, clock: behind, notify: false });
  const result = await during(clock, (await other.resume("x")).result(), 5_000);
  expect([result.status, paidService.jobs.size]).toEqual(["succeeded", 3]);
});

describe("an option that is not there within its time", () => {
  test("gives way to the next one, and the run ends with its job named and its money reserved", async () => {
    const world = await slow({ a: 600 });
    const result = await ran(world, either);
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)).toMatchObject({
      "face/1/a": expect.stringMatching(
        /^failed: the run stopped waiting after .*: job job_1 is still being polled, and 0.10 USD stays/,
      ),
      "face/2/b": "succeeded: null",
      "face/pick": "succeeded: used face/2: face/1 was late (face/1/a did not finish in time)",
    });
    expect(result.report.message).toContain("face/1/a: the run stopped waiting");
    expect(result.openJobs).toMatchObject([{ step: "face/1/a", jobId: "job_1" }]);
    expect([result.report.held, world.paidService.jobs.size]).toEqual(["0.10", 3]);
  });

  test("is collected by whoever resumes the run once it is there, and can be taken", async () => {
    const world = await slow({ a: 60 });
    await ran(world, either);
    await world.clock.advance(60 * MINUTE_MS);
    const late = await resumed(world);
    expect(late.status).toBe("succeeded");
    expect(whysOf(late)["face/1/a"]).toBe("succeeded: null");
    expect([late.report.held, late.report.cost]).toEqual(["0.00", "0.30"]);
    expect(late.report.message).toContain("face/1 finished late");
    const taken = await resumed(world, { rerun: ["face/pick"] });
    expect(taken.status).toBe("succeeded");
    expect(stepOf(taken, "face/pick").chosen).toEqual({ step: "face/1/a", index: 0 });
    // The film is made anew with it.
    expect(world.paidService.jobs.size).toBe(4);
  });

  test("is made again by whoever says so, once its job has ended", async () => {
    const world = await slow({ a: 60 });
    await ran(world, either);
    const result = await resumed(world, { rerun: ["face/1/a"] });
    expect(result.status).toBe("succeeded");
    expect(stepOf(result, "face/1/a").attempts).toHaveLength(2);
    expect(result.openJobs.map(({ jobId }) => jobId)).not.toContain("job_1");
  });

  test("leaves the end of the run as it is for whoever starts it once more", async () => {
    const world = await slow({ a: 600 });
    await ran(world, either);
    const at = world.clock.now();
    expect(await ran(world, either)).toMatchObject({ status: "succeeded", openJobs: [{ jobId: "job_1" }] });
    expect(world.clock.now() - at).toBeLessThan(MINUTE_MS);
    expect(await timesOf(world, "run.reopened")).toBe(0);
  });

  test("is taken where it comes before the next one, which is paid for as well", async () => {
    const world = await slow({ a: 12, b: 20 });
    const result = await ran(world, either);
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)).toMatchObject({ "face/1/a": "succeeded: null", "face/2/b": "succeeded: null" });
    expect(stepOf(result, "face/pick").chosen).toEqual({ step: "face/1/a", index: 0 });
    expect(result.report.cost).toBe("0.30");
  });
});

describe("options of several steps", () => {
  const failing = (which: RegExp, code = "INTERNAL") => ({
    fails: (_: string, body: string) => (which.test(body) ? { code, retryable: false } : null),
  });

  test("end without the rest of a late one while the next one is under way, also where a condition of it holds", async () => {
    const of = pipelineOf("several", ({ firstOf, job }) => {
      const x = job("x", models.image, { prompt: "x" }, { onFailure: "continue" });
      return {
        face: firstOf("face", [
          (b) => {
            const a1 = b.job("a1", models.image, { prompt: "a1" }, { within: "10m" });
            return b.job("a2", models.image, { prompt: "a2", images: [a1] }, { when: failed(x) });
          },
          (b) => b.job("b", models.image, { prompt: "b" }),
        ]),
      };
    });
    const world = await slow({ a1: 12, b: 20 }, failing(/"prompt":"x"/));
    const result = await ran(world, of);
    expect(whysOf(result)).toMatchObject({
      "face/1/a2": "skipped: not needed: face/2 succeeded",
      "face/2/b": "succeeded: null",
    });
  });

  const two = pipelineOf("two", ({ firstOf, job }) => ({
    face: firstOf("face", [
      (b) => b.job("a", models.image, { prompt: "a" }, { within: "10m" }),
      (b) => {
        const b1 = b.job("b1", models.image, { prompt: "b1" });
        return b.job("b2", models.image, { prompt: "b2", images: [b1] });
      },
    ]),
    film: job("film", models.image, { prompt: "film" }),
  }));

  test.each([
    ["charged", "INTERNAL", 100_000],
    ["of which the bill never comes", "INTERNAL", null],
    ["moderated", "MODERATION_FAILED", 0],
    ["at no cost", "INTERNAL", 0],
  ])("go on with what was begun where the late one fails %s", async (_, code, costMicros) => {
    const world = await slow(
      { a: 12, b1: 5 },
      { ...failing(/"prompt":"a"/, code), shows: ({ error }) => (error === null ? {} : { costMicros }) },
    );
    const result = await ran(world, two);
    expect(whysOf(result)).toMatchObject({
      "face/1/a": expect.stringMatching(/^failed/),
      "face/2/b2": "succeeded: null",
      "face/pick": "succeeded: used face/2: face/1 was late (face/1/a did not finish in time)",
    });
    expect(world.paidService.jobs.size).toBe(4);
  });
});

describe("driven in slices", () => {
  /** An engine that wakes the run whenever it is due, for so long; the statuses of its slices. */
  async function driven(world: FakeShow, forMs: number, how: SliceOptions = {}): Promise<readonly string[]> {
    const until = world.clock.now() + forMs;
    const statuses: string[] = [];
    for (;;) {
      const { status, wakeAt } = await during(world.clock, world.show.engine.slice("x", how), 5);
      if (statuses.at(-1) !== status) statuses.push(status);
      if (wakeAt === null || wakeAt > until) return statuses;
      await world.clock.advance(Math.max(0, wakeAt - world.clock.now()));
    }
  }

  test("a paused run goes on by itself once its job is there", async () => {
    const world = await started(chain, { a: 15 });
    expect(await driven(world, 20 * MINUTE_MS)).toEqual(["running", "paused", "running", "succeeded"]);
    expect([await timesOf(world, "run.paused"), world.paidService.jobs.size]).toEqual([1, 3]);
  });

  test.each([
    ["between two looks at it", -1_000],
    ["as it is to be looked at", 0],
  ])("whoever starts it once more %s waits once more for its job", async (_, fromLookMs) => {
    const world = await started(chain, { a: 19 });
    expect((await driven(world, 11 * MINUTE_MS)).at(-1)).toBe("paused");
    const { wakeAt } = (await world.journal.run("x"))!;
    await world.clock.advance(wakeAt! + fromLookMs - world.clock.now());
    const handle = await during(world.clock, world.show.run(chain, {}, { id: "x", outDir: world.outDir }), 5);
    await world.show.engine.slice("x").catch(() => {});
    expect((await during(world.clock, handle.result(), 5_000)).status).toBe("succeeded");
    expect(world.paidService.jobs.size).toBe(3);
  });

  test("whoever started it once more is told where it pauses again", async () => {
    const world = await started(chain, { a: 600 });
    await driven(world, 11 * MINUTE_MS);
    const { wakeAt } = (await world.journal.run("x"))!;
    await world.clock.advance(wakeAt! - world.clock.now());
    const handle = await during(world.clock, world.show.run(chain, {}, { id: "x", outDir: world.outDir }), 5);
    await world.show.engine.slice("x");
    expect((await during(world.clock, handle.result(), 5_000)).pause?.reason).toBe("late");
    expect(world.clock.now() - wakeAt!).toBeGreaterThanOrEqual(10 * MINUTE_MS);
    expect(world.clock.now() - wakeAt!).toBeLessThan(12 * MINUTE_MS);
  });

  const pair = pipelineOf("pair", ({ job }) => {
    const made = ["a", "d"].map((name) => job(name, models.image, { prompt: name }, { within: "10m" }));
    return { a: job("a2", models.image, { prompt: "a2", images: [made[0]!] }), d: made[1]! };
  });

  test("of two late jobs each has its own time: the end of one does not have the other waited for again", async () => {
    const world = await started(pair, { a: 15, d: 600 });
    expect(await driven(world, 19 * MINUTE_MS)).toEqual(["running", "paused", "running", "paused"]);
    expect(await world.show.show("x")).toMatchObject({ cost: "0.20", held: "0.10", pause: { reason: "late" } });
    expect(await timesOf(world, "step.overdue")).toBe(2);
    const from = world.clock.now();
    expect((await resumed(world)).pause?.reason).toBe("late");
    expect(world.clock.now() - from).toBeGreaterThanOrEqual(10 * MINUTE_MS);
    expect(await timesOf(world, "step.overdue")).toBe(3);
  });

  test("of two late jobs of a run that ended, the end of one leaves the end of the run as it is for the other", async () => {
    const choices = pipelineOf("choices", ({ firstOf, job }) => {
      const choice = (name: string) =>
        firstOf(`${name}-face`, [
          (b) => b.job(name, models.image, { prompt: name }, { within: "10m" }),
          (b) => b.job(`${name}2`, models.image, { prompt: `${name}2` }),
        ]);
      return { film: job("film", models.image, { prompt: "film", images: ["a", "d"].map(choice) }) };
    });
    const world = await started(choices, { a: 15, d: 600 });
    expect(await driven(world, 19 * MINUTE_MS)).toEqual(["running", "succeeded"]);
    expect([await timesOf(world, "run.reopened"), await timesOf(world, "step.overdue")]).toEqual([1, 2]);
    expect(await world.show.show("x")).toMatchObject({ cost: "0.40", held: "0.10" });
  });

  test("a run that ended takes its late job in by itself, and asks no longer than a day", async () => {
    const world = await started(either, { a: 15 });
    expect(await driven(world, 20 * MINUTE_MS)).toEqual(["running", "succeeded"]);
    const report = await world.show.show("x");
    expect(report.held).toBe("0.00");
    expect(report.message).toContain("face/1 finished late");
    const never = await started(either, { a: Number.POSITIVE_INFINITY });
    await driven(never, 12 * MINUTE_MS);
    for (const hours of [11, 12]) {
      await never.clock.advance(hours * 60 * MINUTE_MS);
      await driven(never, MINUTE_MS);
      expect((await never.journal.run("x"))?.wakeAt).not.toBeNull();
    }
    await driven(never, Number.POSITIVE_INFINITY);
    expect((await never.journal.run("x"))?.wakeAt).toBeNull();
    expect(await timesOf(never, "run.finished")).toBe(1);
    expect(never.clock.now()).toBeLessThan(world.clock.now() + 25 * 60 * MINUTE_MS);
  });

  test("keeps nobody who follows the run waiting: at rest, it is over for them", async () => {
    const cases: readonly (readonly [Pipeline, string])[] = [
      [chain, "paused"],
      [either, "succeeded"],
    ];
    for (const [of, status] of cases) {
      const world = await started(of, { a: Number.POSITIVE_INFINITY });
      await driven(world, 12 * MINUTE_MS);
      expect((await world.journal.run("x"))?.wakeAt).not.toBeNull();
      const followed = await world.show.follow("x");
      expect((await during(world.clock, followed.result())).status).toBe(status);
    }
  });

  test("whoever follows a run just after its decision is told what comes of that", async () => {
    const decided = pipelineOf("decided", ({ approve, job }) => {
      const drawn = job("drawn", models.image, { prompt: "drawn" });
      return { film: job("film", models.image, { prompt: "film", images: [approve("ok", drawn)] }) };
    });
    const world = await started(decided, {});
    expect((await driven(world, 12 * MINUTE_MS)).at(-1)).toBe("paused");
    await world.show.approve("x", "ok");
    const handle = await world.show.follow("x");
    await settle();
    expect((await driven(world, 12 * MINUTE_MS)).at(-1)).toBe("succeeded");
    expect((await during(world.clock, handle.result())).status).toBe("succeeded");
  });

  test("a key that the service refuses leaves the end of a run as it is, and is tried ever more rarely", async () => {
    let isRefused = true;
    let reads = 0;
    const world = await openFakeShow({
      takesMs: (body) => (body.includes('"a"') ? 45 * MINUTE_MS : 10_000),
      shows: ({ prompt }) => {
        if (prompt !== "a") return {};
        reads += 1;
        if (isRefused) throw apiError(401, "UNAUTHENTICATED");
        return {};
      },
    });
    await world.show.start(either, {}, { id: "x", outDir: world.outDir });
    expect(await driven(world, 10 * 60 * MINUTE_MS)).toEqual(["running", "succeeded"]);
    expect(reads).toBeGreaterThan(5);
    expect(reads).toBeLessThan(100);
    isRefused = false;
    expect(await driven(world, 60 * MINUTE_MS)).toEqual(["succeeded"]);
    expect([(await world.show.show("x")).held, await timesOf(world, "run.paused")]).toEqual(["0.00", 0]);
  });

  test.each(["poll", "result"])(
    "a worker that ends in the middle of a late %s leaves the job to the next",
    async (read) => {
      const world = await started(either, { a: 15 });
      await driven(world, 12 * MINUTE_MS);
      if (read === "result") await world.clock.advance(30 * MINUTE_MS);
      const stop = new AbortController();
      const client = world.paidService.client(async (at) => {
        if (at !== `${read}: accepted`) return;
        stop.abort();
        await settle();
      });
      const { journal, mediaDir, clock } = world;
      const other = await openShowrunner({ client, journal, mediaDir, clock, notify: false });
      const { wakeAt } = (await journal.run("x"))!;
      await clock.advance(Math.max(0, wakeAt! - clock.now()));
      await during(clock, other.engine.slice("x", { signal: stop.signal }), 5);
      expect(stop.signal.aborted).toBe(true);
      await driven(world, 12 * MINUTE_MS);
      const report = await world.show.show("x");
      expect(report).toMatchObject({ status: "succeeded", held: "0.00" });
      expect(report.message).toContain("face/1 finished late");
    },
  );

  const silent = () => {
    throw new Error("nothing is known of it");
  };
  test.each([
    ["is pending", () => ({ status: "pending" })],
    ["cannot be asked for", silent],
  ])(
    "an operation of a provider that %s after more than a day leaves the end of its run as it is",
    async (_, status) => {
      const [first, second] = [new MockProvider(), new MockProvider("other")];
      first.status = () => ({ status: "pending" });
      const films = pipelineOf("films", ({ firstOf }) => ({
        film: firstOf("film", [
          (b) => b.generate("a", first.startingVideo(), { prompt: "a" }, { maxCost: "0.50", within: "10m" }),
          (b) => b.generate("b", second.startingVideo(), { prompt: "b" }, { maxCost: "0.50" }),
        ]),
      }));
      const world = await openFakeShow();
      await world.show.start(films, {}, { id: "x", outDir: world.outDir });
      const findPipeline = async () => films;
      expect((await driven(world, 12 * MINUTE_MS, { findPipeline })).at(-1)).toBe("succeeded");
      await world.clock.advance((23 * 60 + 43) * MINUTE_MS);
      const { asked } = first;
      first.status = status;
      expect(await driven(world, 60 * MINUTE_MS, { findPipeline })).toEqual(["succeeded"]);
      expect(first.asked).toBeGreaterThan(asked);
      expect(await timesOf(world, "run.reopened")).toBe(0);
    },
  );

  test("a run that is paused for one job stays so when another comes that it has decided against", async () => {
    const of = pipelineOf("both", ({ firstOf, job }) => ({
      end: job("end", models.image, {
        prompt: "end",
        images: [job("p", models.image, { prompt: "p" }, { within: "10m" })],
      }),
      face: firstOf("face", [
        (b) => b.job("a", models.image, { prompt: "a" }, { within: "10m" }),
        (b) => b.job("b", models.image, { prompt: "b" }),
      ]),
    }));
    const world = await started(of, { a: 15, p: 600 });
    expect(await driven(world, 20 * MINUTE_MS)).toEqual(["running", "paused"]);
    const statuses = Object.fromEntries((await world.show.show("x")).steps.map(({ path, status }) => [path, status]));
    expect(statuses).toMatchObject({ p: "running", "face/1/a": "succeeded" });
    expect(await timesOf(world, "step.overdue")).toBe(2);
  });

  test("a webhook is enough", async () => {
    const world = await started(chain, { a: 15 });
    await driven(world, 12 * MINUTE_MS);
    await world.clock.advance(30 * MINUTE_MS);
    const hint = { type: "hint", step: "a", attempt: 1, status: "COMPLETED" } as never;
    await world.journal.send("x", hint, world.clock.now());
    expect((await driven(world, MINUTE_MS)).at(-1)).toBe("succeeded");
  });
});

test("what takes three times as long as usual is said once", async () => {
  const world = await slow({ a: 9 });
  const result = await ran(world, chain);
  expect([result.status, await timesOf(world, "step.slow")]).toEqual(["succeeded", 1]);
  const events = await world.journal.read("x");
  const upTo = events.findIndex(({ event }) => event.type === "step.slow");
  const [notice] = noticesOf(fold(events.slice(0, upTo + 1))!, [events[upTo]!]);
  expect(JSON.parse(notice!.body)).toMatchObject({
    ...{ event: "run.slow", step: "a", next: "showrunner show x" },
    message: expect.stringMatching(
      /^a is taking longer than expected: \d+ min \d\d s so far, expected 10.0 s; job job_1 is still being polled$/,
    ),
  });
});

test("what takes long is measured by what its model took before", async () => {
  const world = await slow({ z: 4 });
  const quick = pipelineOf("quick", ({ job }) => ({ z: job("y", models.image, { prompt: "y" }) }));
  await world.run(quick, {}, { id: "w" }, 1_000);
  await world.clock.advance(2 * MINUTE_MS);
  const again = pipelineOf("again", ({ job }) => ({ z: job("z", models.image, { prompt: "z" }) }));
  await ran(world, again);
  const said = (await world.journal.read("x")).find(({ event }) => event.type === "step.slow");
  expect(said?.event).toMatchObject({ step: "z", expected: { isLearned: true } });
});

describe("an answer that is waited for", () => {
  const asked = pipelineOf("asked", ({ chat, job }) => {
    const said = chat("said", "some/model", { prompt: "said" }, { within: "2m", maxCost: "0.01" });
    return { drawn: job("drawn", models.image, { prompt: said }) };
  });

  test("pauses the run at once, and the run goes on by itself when it comes", async () => {
    const world = await slow({ said: 6 });
    const result = await ran(world, asked);
    expect([result.status, world.paidService.chats.size]).toEqual(["succeeded", 1]);
    const events = (await world.journal.read("x")).map(({ event }) => event.type);
    const turns = ["step.overdue", "run.paused", "chat.answered", "run.resumed", "run.finished"];
    expect(events.filter((type) => turns.includes(type))).toEqual(turns);
  });

  test("gives way to the next option, and is counted when it comes", async () => {
    const world = await slow({ one: 4 });
    const options = { maxCost: "0.01", within: "1m" } as const;
    const choice = pipelineOf("choice", ({ firstOf, job }) => {
      const said = firstOf("words", [
        (b) => b.chat("one", "some/model", { prompt: "one" }, options),
        (b) => b.chat("two", "some/model", { prompt: "two" }, { maxCost: "0.01" }),
      ]);
      return { drawn: job("drawn", models.image, { prompt: said }) };
    });
    const result = await ran(world, choice);
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)).toMatchObject({ "words/1/one": "succeeded: null", "words/2/two": "succeeded: null" });
    expect(world.paidService.chats.size).toBe(2);
    expect(result.report).toMatchObject({ held: "0.00", message: expect.stringContaining("words/1 finished late") });
  });
});

describe("an answer and a provider's work that are late side by side", () => {
  const story = (provider: MockProvider) =>
    pipelineOf("story", ({ chat, generate, job }) => {
      const said = chat("said", "some/model", { prompt: "said" }, { within: "2m", maxCost: "0.01" });
      const film = generate("film", provider.startingVideo(), { prompt: "f" }, { maxCost: "0.50", within: "3m" });
      return { film, drawn: job("drawn", models.image, { prompt: said }) };
    });

  /** A provider that has made the film after so many minutes. */
  function filming({ clock }: FakeShow, minutes: number): MockProvider {
    const provider = new MockProvider();
    provider.status = () => ({ status: "pending" });
    clock.setTimer(minutes * MINUTE_MS, () => {
      provider.status = null;
    });
    return provider;
  }

  test.each([
    [4, 7],
    [8, 4],
    [8, 1],
    [1, 7],
  ])("are each sent once and counted: the answer after %d minutes, the film after %d", async (answers, films) => {
    const world = await slow({ said: answers });
    const provider = filming(world, films);
    const of = story(provider);
    let result = await ran(world, of);
    for (let rounds = 0; result.pause?.reason === "late" && rounds < 3; rounds++) {
      expect(result.report.held).not.toBe("0.00");
      result = await resumed(world, { pipeline: of });
    }
    expect(result).toMatchObject({ status: "succeeded", report: { held: "0.00" } });
    expect([world.paidService.chats.size, provider.made]).toEqual([1, 1]);
    expect(await timesOf(world, "step.overdue")).toBe(Number(answers > 2) + Number(films > 3));
  });

  test("go on after a kill: the film is found, and the question asked once more, as nobody can fetch its answer", async () => {
    const world = await slow({ said: 8 });
    const provider = filming(world, 9);
    // The boundary behind the pause for both.
    const process = await mortalProcess(world, 26);
    const live = async () => {
      await (await process.show.run(story(provider), {}, { id: "x", outDir: world.outDir })).result();
    };
    await process.live(live(), 5_000);
    expect(await timesOf(world, "step.overdue")).toBe(2);
    await world.clock.advance(MINUTE_MS);
    let result = await resumed(world, { pipeline: story(provider) });
    while (result.pause?.reason === "late") result = await resumed(world, { pipeline: story(provider) });
    expect(result).toMatchObject({ status: "succeeded", report: { held: "0.00" } });
    expect([world.paidService.chats.size, provider.made]).toEqual([2, 1]);
  });
});

test("the plan of options that may be bought side by side comes at most to all of them together", async () => {
  const { show } = await slow({});
  const priced = (within?: "10m") =>
    pipelineOf("priced", ({ firstOf }) => ({
      face: firstOf("face", [
        (b) => b.job("a", models.image, { prompt: "a" }, { within }),
        (b) => b.job("b", models.image, { prompt: "b" }, { within }),
        (b) => b.job("c", models.image, { prompt: "c" }, { within }),
      ]),
    }));
  expect((await show.quote(priced(), {})).totalMicros).toEqual({ min: 100_000, max: 100_000 });
  expect((await show.quote(priced("10m"), {})).totalMicros).toEqual({ min: 100_000, max: 300_000 });
});

describe("within in the code of a run", () => {
  const waiting = (within?: "10m" | "40m" | "1m") =>
    pipelineOf("chain", ({ job }) => {
      const a = job("a", models.image, { prompt: "a" }, { within });
      return { b: job("b", models.image, { prompt: "b", images: [a] }) };
    });

  test("may change: nothing is asked for anew, and the new time counts", async () => {
    const world = await slow({ a: 45 });
    expect((await ran(world, waiting("10m"))).pause?.reason).toBe("late");
    const result = await resumed(world, { pipeline: waiting("40m") });
    expect(result).toMatchObject({ status: "succeeded", drift: expect.toSatisfy((drift) => drift?.isSame !== false) });
    expect(world.paidService.jobs.size).toBe(2);
    const never = await slow({ a: 45 });
    await ran(never, waiting("10m"));
    expect((await resumed(never, { pipeline: waiting() })).status).toBe("succeeded");
  });

  test.each([["10 minutes"], ["0s"], ["-1m"], [""], [600]])("that is %j is refused by its name", async (within) => {
    const { show } = await slow({});
    await expect(show.quote(waiting(within as "10m"), {})).resolves.toMatchObject({
      problems: [{ step: "a", field: "within", message: expect.stringContaining('such as "10m"') }],
    });
  });
});

test("the next option waits for no place that a late job holds", async () => {
  const world = await slow({ a: 600 });
  const result = await world.run(either, {}, { concurrency: 1 }, 5_000);
  expect(result.status).toBe("succeeded");
});

test("what the budget cannot pay beside a late job pauses the run for the budget", async () => {
  const world = await slow({ a: 600 });
  const result = await world.run(either, {}, { budget: "0.20" }, 5_000);
  expect([result.pause?.reason, world.paidService.jobs.size]).toEqual(["budget", 2]);
});
