import { describe, expect, test } from "vitest";
import { z } from "zod";
import { models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const told = z.object({ scenes: z.array(z.object({ prompt: z.string() })) });
const says = (count: number) => () =>
  JSON.stringify({ scenes: Array.from({ length: count }, (_, index) => ({ prompt: `scene ${index}` })) });

const unquoted = (model: string) => (model === "upscale-1" ? null : 100_000);

/** A chat that tells scenes, and a picture of each. */
function scenesOf(bounds: { maxSteps: number; maxCost?: string }, drawn: (prompt: string) => object = () => ({})) {
  return pipelineOf("scenes", ({ chat, expand }) => {
    const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
    const shots = expand(
      "shots",
      story.at("scenes"),
      (scenes, words) =>
        scenes.map(({ prompt }, index) => words.job(`shot-${index}`, models.image, { prompt, ...drawn(prompt) })),
      bounds,
    );
    return { shots };
  });
}

test("steps that a value leads to are planned, priced and written down before the first of them is paid for", async () => {
  const world = await openFakeShow({ says: says(3) });
  const result = await world.run(scenesOf({ maxSteps: 5, maxCost: "0.30" }));
  expect(result).toMatchObject({ status: "succeeded", cost: { micros: 301_000 } });
  expect(result.outputs).toMatchObject({ shots: [{ contentType: "image/png" }, {}, {}] });
  expect(result.report.steps.map(({ path }) => path)).toEqual([
    ...["story", "shots", "shots/shot-0", "shots/shot-1", "shots/shot-2"],
  ]);
  const types: string[] = [];
  for await (const { event } of world.show.events("x"))
    if ("step" in event && event.step.startsWith("shots")) types.push(event.type);
  expect(types.slice(0, 5)).toEqual(["step.started", "expand.planned", "job.quoted", "job.quoted", "job.quoted"]);
});

test("a value that leads to nothing is an empty list", async () => {
  const world = await openFakeShow({ says: says(0) });
  expect(await world.run(scenesOf({ maxSteps: 5 }))).toMatchObject({ status: "succeeded", outputs: { shots: [] } });
});

describe("an expansion that may not be", () => {
  test("for its number of steps fails before anything of it is paid for", async () => {
    const world = await openFakeShow({ says: says(6) });
    const result = await world.run(scenesOf({ maxSteps: 5 }));
    expect(stepOf(result, "shots").reason).toMatch(/adds 6 steps, but maxSteps is 5/);
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("for its price likewise", async () => {
    const world = await openFakeShow({ says: says(4) });
    const result = await world.run(scenesOf({ maxSteps: 5, maxCost: "0.30" }));
    expect(stepOf(result, "shots").reason).toMatch(/may cost 0.40? USD, more than its maxCost of 0.30? USD/);
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("for mistakes tells all of them", async () => {
    const world = await openFakeShow({ says: says(2) });
    const wrong = scenesOf({ maxSteps: 5 }, () => ({ colour: "red" }));
    const reason = stepOf(await world.run(wrong), "shots").reason;
    expect(reason).toMatch(/shots\/shot-0 input\.colour: .*; shots\/shot-1 input\.colour: /s);
    expect(world.paidService.jobs.size).toBe(0);
  });

  test("because its function throws says what it threw", async () => {
    const world = await openFakeShow({ says: says(1) });
    const throwing = scenesOf({ maxSteps: 5 }, (prompt) => {
      throw new Error(`${prompt} is not good enough`);
    });
    expect(stepOf(await world.run(throwing), "shots").reason).toMatch(/scene 0 is not good enough/);
  });
});

test("expansions nest, and their functions are found again by whoever resumes with the code", async () => {
  const calls: string[] = [];
  const nested = pipelineOf("nested", ({ chat, expand, task, approve }) => {
    const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
    const go = approve("go", story);
    const shots = expand(
      "shots",
      go.at("scenes"),
      (scenes, outer) =>
        scenes.map(({ prompt }, index) => {
          const words = outer.task(`words-${index}`, { prompt }, (given) => given.prompt.split(" "));
          const drawn = outer.expand(
            `drawn-${index}`,
            words.value,
            (parts, inner) =>
              parts.map((part, at) =>
                inner.task(`part-${at}`, { part }, (given) => {
                  calls.push(given.part);
                  return given.part.length;
                }),
              ),
            { maxSteps: 4, yields: "value" },
          );
          return outer.task(`sum-${index}`, { drawn }, (given) => given.drawn.reduce((sum, one) => sum + one, 0));
        }),
      { maxSteps: 20, yields: "value" },
    );
    return { total: task("total", { shots }, (given) => given.shots.join("+")).value };
  });
  const world = await openFakeShow({ says: says(2) });
  expect((await world.run(nested)).pause?.reason).toBe("approval");
  await world.show.approve("x", "go");
  const without = await world.resume();
  expect(without.pause).toMatchObject({
    reason: "code",
    message: expect.stringMatching(/^shots needs the pipeline's code/),
  });
  const result = await world.resume({ pipeline: nested });
  expect(result).toMatchObject({ status: "succeeded", outputs: { total: "6+6" } });
  expect(calls.sort()).toEqual(["0", "1", "scene", "scene"]);
  expect(stepOf(result, "shots/drawn-0/part-1")).toMatchObject({ kind: "task", status: "succeeded", value: 1 });
});

describe("what a part may cost", () => {
  const part = pipelineOf("part", ({ job }) => {
    const one = job("one", models.image, { prompt: "one" });
    return { two: job("two", models.upscale, { image: one }, { maxCost: "0.10" }), one };
  });

  test("holds within an included pipeline, whatever the run may spend [G20]", async () => {
    const whole = pipelineOf("whole", ({ include, job }) => {
      const { two } = include("part", part, {}, { maxCost: "0.15" });
      return { two, other: job("other", models.image, { prompt: "other" }) };
    });
    const world = await openFakeShow({ priceMicros: unquoted });
    const result = await world.run(whole, {}, { budget: "5" });
    expect(stepOf(result, "part/two")).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/but part has spent or reserved 0.10 of its maxCost of 0.15 USD/),
    });
    expect(result).toMatchObject({ status: "partial", cost: { micros: 200_000 } });
  });

  test("is a problem beforehand where it is surely too little", async () => {
    const whole = pipelineOf("whole", ({ include }) => include("part", part, {}, { maxCost: "0.15" }));
    const quote = await (await openFakeShow()).show.quote(whole, {});
    expect(quote.problems).toEqual([
      {
        code: "over-max-cost",
        step: "part",
        field: null,
        message: "its steps cost at least 0.20 USD, more than its maxCost of 0.15 USD",
      },
    ]);
  });

  test("bounds what a quote says at most; conditions bound what it says at least", async () => {
    const whole = pipelineOf("whole", ({ include, chat, job, takes, expand }) => {
      const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
      const shots = expand(
        "shots",
        story.at("scenes"),
        (scenes, words) => scenes.map(({ prompt }, index) => words.job(`s-${index}`, models.image, { prompt })),
        { maxSteps: 5, maxCost: "0.50" },
      );
      const { two } = include("part", part, {}, { maxCost: "0.15" });
      const face = takes("face", models.image, { prompt: "a face" }, { count: 3, choose: "first" });
      const said = job("said", models.image, { prompt: story.at("scenes").at(0).at("prompt") });
      return { two, face, said, shots, sad: job("sad", models.image, { prompt: "x" }, { when: story.at("scenes") }) };
    });
    const world = await openFakeShow({ priceMicros: unquoted });
    const quote = await world.show.quote(whole, {});
    expect(quote.problems).toEqual([]);
    // Surely: one job of the part, one take, and what was said. At most: all takes, the chat, the expansion too.
    expect(quote.totalMicros).toEqual({ min: 300_000, max: 150_000 + 300_000 + 100_000 + 100_000 + 10_000 + 500_000 });
    expect(quote.prices.find(({ step }) => step === "said")).toMatchObject({
      basis: "provisional",
      costMicros: 100_000,
    });
  });
});
