import { describe, expect, test } from "vitest";
import { ConnectionError } from "../../../src/core/api/index.ts";
import type { StepMethods } from "../../../src/core/define/index.ts";
import { failed, type Handle, type Pipeline } from "../../../src/index.ts";
import { apiError, models, openFakeShow, pipelineOf, unanswered, whysOf } from "../../support/engine.ts";

/** Two pictures, of which the second is a second choice. */
function either(settings: { readonly onModerated?: "next" } = {}): Pipeline {
  const options = [first, (b: StepMethods) => b.job("b", models.image, { prompt: "b", quality: "pro" })];
  return pipelineOf("either", ({ firstOf }) => ({ face: firstOf("face", options, settings) }));
}

const first = (b: StepMethods) => b.job("a", models.image, { prompt: "a" });
const second = (b: StepMethods) => b.job("b", models.image, { prompt: "b" });

const isFirst = (body: unknown) => JSON.stringify(body).includes('"a"');

/** What came of it on a service with these options. */
async function ran(of: Pipeline, options: Parameters<typeof openFakeShow>[0] = {}) {
  const world = await openFakeShow(options);
  return { ...world, result: await world.run(of, {}, { giveUpAfterMs: 5_000 }) };
}

describe("the second of two options", () => {
  test("is not begun where the first is made", async () => {
    const { result, ...world } = await ran(either());
    expect(whysOf(result)).toEqual({
      "face/1/a": "succeeded: null",
      "face/2/b": "skipped: not needed: face/1 succeeded",
      "face/pick": "succeeded: null",
    });
    expect([world.paidService.jobs.size, result.status]).toEqual([1, "succeeded"]);
  });

  test.each([
    ["refused", { refuses: 400, code: "INVALID_ARGUMENT" }, "refused: refused on paper (400)"],
    ["retired", { refuses: 410, code: "GONE" }, "retired: refused on paper (410)"],
    ["failed and refunded", { fails: "INVALID_ARGUMENT" }, "failed at no cost: INVALID_ARGUMENT: failed on paper"],
    ["failed for want of capacity", { fails: "UNAVAILABLE" }, "no capacity: UNAVAILABLE: failed on paper"],
  ])("is begun where the first was %s", async (_, how: { refuses?: number; code?: string; fails?: string }, why) => {
    const { result } = await ran(either(), {
      refuses: (_, body) => (how.refuses !== undefined && isFirst(body) ? apiError(how.refuses, how.code!) : null),
      fails: (_, body) =>
        how.fails !== undefined && body.includes('"a"') ? { code: how.fails, retryable: false } : null,
    });
    expect(result.status).toBe("succeeded");
    expect(whysOf(result)["face/2/b"]).toBe("succeeded: null");
    expect(whysOf(result)["face/pick"]).toBe(`succeeded: used face/2: face/1 failed (face/1/a: ${why})`);
    expect(result.report.cost).toBe("0.10");
  });

  test("is never begun while the answer for the first is unknown", async () => {
    const { result, ...world } = await ran(either(), {
      refuses: (model, body) => (isFirst(body) ? unanswered(model) : null),
    });
    expect(result.status).toBe("paused");
    expect(whysOf(result)["face/2/b"]).toBe("waiting: null");
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("is not begun where the first failed and was charged", async () => {
    const { result, ...world } = await ran(either(), {
      fails: (_, body) => (body.includes('"a"') ? { code: "INTERNAL", retryable: false } : null),
      shows: ({ error }) => (error === null ? {} : { costMicros: 100_000 }),
    });
    expect(result.status).toBe("failed");
    expect(whysOf(result)["face/2/b"]).toBe("skipped: not started: face/1/a failed and cost 0.10 USD");
    expect(world.paidService.jobs.size).toBe(1);
  });

  test("waits for the bill of the first, and asks for a person where none comes", async () => {
    let bill: number | null = null;
    const { result, ...world } = await ran(either(), {
      fails: (_, body) => (body.includes('"a"') ? { code: "INTERNAL", retryable: false } : null),
      shows: ({ error }) => (error === null ? {} : { costMicros: bill }),
    });
    expect(result.status).toBe("paused");
    expect(result.report.message).toContain("face/1/a failed, and it is not yet known whether it was charged");
    expect(world.paidService.jobs.size).toBe(1);
    bill = 0;
    const resumed = await world.resume();
    expect(resumed.status).toBe("succeeded");
    expect(whysOf(resumed)["face/2/b"]).toBe("succeeded: null");
  });

  test("waits for the bill of the first where its own condition holds, too", async () => {
    const conditional = pipelineOf("conditional", ({ firstOf, job }) => {
      const x = job("x", models.image, { prompt: "x" }, { onFailure: "continue" });
      return { face: firstOf("face", [first, (b) => b.job("b", models.image, { prompt: "b" }, { when: failed(x) })]) };
    });
    const { result, ...world } = await ran(conditional, {
      fails: (_, body) => (/"prompt":"[ax]"/.test(body) ? { code: "INTERNAL", retryable: false } : null),
      shows: ({ error }) => (error === null ? {} : { costMicros: null }),
    });
    expect(result.status).toBe("paused");
    expect(whysOf(result)).toMatchObject({ x: expect.stringMatching(/^failed/), "face/2/b": "waiting: null" });
    expect(world.paidService.jobs.size).toBe(2);
  });

  test("waits for the bill of what was made before a task failed, and is not begun where it was charged", async () => {
    let bill: number | null = null;
    const checked = pipelineOf("checked", ({ firstOf }) => ({
      face: firstOf("face", [
        (b) =>
          b.task("check", { face: b.job("a", models.image, { prompt: "a" }) }, (): string => {
            throw new Error("not good enough");
          }),
        (b) => b.task("own", {}, () => "drawn here"),
      ]),
    }));
    const { result, ...world } = await ran(checked, { shows: () => ({ costMicros: bill }) });
    expect(result.status).toBe("paused");
    expect(result.report.message).toContain("face/1/a");
    expect(world.paidService.jobs.size).toBe(1);
    bill = 100_000;
    const resumed = await world.resume({ pipeline: checked });
    expect(resumed.status).toBe("failed");
    expect(whysOf(resumed)["face/2/own"]).toContain("not started: face/1/check failed locally");
    expect(world.paidService.jobs.size).toBe(1);
  });

  test("is begun after moderation where its author says so", async () => {
    const refuses = (_: string, body: unknown) => (isFirst(body) ? apiError(422, "MODERATION_FAILED") : null);
    const { result: strict } = await ran(either(), { refuses });
    expect(strict.status).toBe("failed");
    expect(whysOf(strict)["face/2/b"]).toBe("skipped: not started: face/1/a was refused by moderation");
    const { result: lenient } = await ran(either({ onModerated: "next" }), { refuses });
    expect(lenient.status).toBe("succeeded");
    expect(whysOf(lenient)["face/pick"]).toContain("refused by moderation");
  });
});

test("what a second choice made up for is not made again with what failed", async () => {
  let isOut = true;
  const of = pipelineOf("made-up-for", ({ firstOf, job }) => ({
    face: firstOf("face", [first, second]),
    other: job("other", models.image, { prompt: "a" }),
  }));
  const refuses = (_: string, body: unknown) => (isOut && isFirst(body) ? apiError(400, "NO") : null);
  const { result, ...world } = await ran(of, { refuses });
  expect(result.status).toBe("partial");
  isOut = false;
  const resumed = await world.resume({ rerunFailed: true });
  expect(resumed.status).toBe("succeeded");
  expect(whysOf(resumed)).toMatchObject({ other: "succeeded: null", "face/2/b": "succeeded: null" });
  expect(whysOf(resumed)["face/1/a"]).toContain("failed");
  expect(world.paidService.jobs.size).toBe(2);
});

describe("a plan with second choices", () => {
  const film = { prompt: "x", aspect_ratio: "1:1", duration_ms: 3000 } as const;
  const prices: Readonly<Record<string, number>> = { "image-1": 100_000, "video-1": 900_000 };
  const priceMicros = (model: string) => prices[model] ?? 0;
  const quoted = async (of: Pipeline) => (await openFakeShow({ priceMicros })).show.quote(of, {});

  test("costs the dearest way through them, which is not their sum", async () => {
    const quote = await quoted(either());
    expect(quote.totalMicros).toEqual({ min: 100_000, max: 100_000 });
    const second = quote.prices.find(({ step }) => step === "face/2/b");
    expect(second).toMatchObject({ insteadOf: "face/1", costMicros: 100_000 });
    const chained = pipelineOf("chained", ({ firstOf }) => ({
      film: firstOf("film", [
        (b) => b.job("film", models.video, { ...film, start_image: b.job("still", models.image, { prompt: "x" }) }),
        (b) => b.job("film", models.video, film),
      ]),
    }));
    // The still, and then the second film.
    expect((await quoted(chained)).totalMicros).toEqual({ min: 900_000, max: 1_000_000 });
    const rescued = pipelineOf("rescued", ({ firstOf }) => ({
      still: firstOf("still", [
        (b) => {
          const still = b.job("still", models.image, { prompt: "x" });
          b.job("rescue", models.video, film, { when: failed(still) });
          return still;
        },
        (b) => b.job("big", models.image, { prompt: "y", images: [b.job("still", models.image, { prompt: "x" })] }),
      ]),
    }));
    // The first still fails, and the film that is made then is paid for as well as both of the second stills.
    expect((await quoted(rescued)).totalMicros).toMatchObject({ max: 1_100_000 });
  });

  test("says which option is out already, and runs without it", async () => {
    const of = pipelineOf("out", ({ firstOf }) => ({
      face: firstOf("face", [(b) => b.job("a", "image-9", { prompt: "a" }), second]),
    }));
    const world = await openFakeShow();
    const quote = await world.show.quote(of, {});
    expect(quote.problems).toEqual([]);
    expect(quote.warnings).toMatchObject([{ code: "option-out", step: "face/1" }]);
    expect(quote.warnings[0]!.message).toContain("is ruled out: the service has no model image-9");
    const result = await world.run(of);
    expect(Object.keys(whysOf(result))).toEqual(["face/2/b", "face/pick"]);
    expect(whysOf(result)["face/pick"]).toContain(
      "used face/2: face/1 was ruled out (the service has no model image-9",
    );
  });

  const outside = (_: StepMethods, job: StepMethods["job"]) => job("a", models.image, { prompt: "a" });
  const listed = (b: StepMethods) => b.job("a", models.image, { prompt: "a" }).outputs() as never;
  test.each([
    ["steps outside", outside, "the option adds steps with the outer builder"],
    ["no handle", () => ({}) as never, "the option must return the handle"],
    ["a list", listed, "the option must return the handle"],
  ])("refuses an option with %s", async (_, option: (b: StepMethods, job: StepMethods["job"]) => Handle, said) => {
    const of = pipelineOf("bad", ({ firstOf, job }) => ({
      face: firstOf("face", [(b) => option(b, job) as never, second]),
    }));
    const { problems } = await quoted(of);
    expect(problems.map(({ code, step, message }) => `${code} ${step}: ${message}`)).toContainEqual(
      expect.stringContaining(`bad-option face/1: ${said}`),
    );
  });

  test("keeps what is inside of an option to itself", async () => {
    const of = pipelineOf("leak", ({ firstOf, job }) => {
      let inside: Handle<"image", "single"> | null = null;
      const face = firstOf("face", [(b) => (inside = b.job("a", models.image, { prompt: "a" })), second]);
      return { face, again: job("again", models.image, { prompt: "again", images: [inside!] }) };
    });
    expect((await quoted(of)).problems).toMatchObject([{ code: "foreign-handle", step: "again" }]);
  });
});

test("an option gives way once the service was away for longer than its choice waits", async () => {
  const of = pipelineOf("away", ({ firstOf }) => ({
    told: firstOf(
      "told",
      [
        (b) => b.task("kept", { face: b.job("a", models.image, { prompt: "a" }) }, () => "drawn there"),
        (b) => b.task("own", {}, () => "drawn here"),
      ],
      { awayMs: 60_000 },
    ),
  }));
  let isAway = false;
  const refuses = () => (isAway ? new ConnectionError("nobody is there", { sent: false }) : null);
  const world = await openFakeShow({ refuses });
  isAway = true;
  const result = await world.run(of, {}, { giveUpAfterMs: 600_000 }, 5_000);
  expect(result.status).toBe("succeeded");
  expect(whysOf(result)["told/1/a"]).toMatch(/^failed: the service was away for 1 min/);
  expect(whysOf(result)["told/2/own"]).toBe("succeeded: null");
  expect(world.paidService.jobs.size).toBe(0);
});
