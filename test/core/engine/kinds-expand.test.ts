import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventsOf, models, openFakeShow, pipelineOf, stepOf } from "../../support/engine.ts";

const told = z.object({ scenes: z.array(z.object({ prompt: z.string() })) });
const says = (count: number) => () =>
  JSON.stringify({ scenes: Array.from({ length: count }, (_, index) => ({ prompt: `scene ${index}` })) });

const unquoted = (model: string) => (model === "upscale-1" ? null : 100_000);

/** A chat that tells scenes, and a picture of each. */
function scenesOf(bounds: { maxSteps: number; maxCost?: string }, more: object = {}) {
  return pipelineOf("scenes", ({ chat, expand }) => {
    const story = chat("story", "chat-1", { prompt: "tell" }, { schema: told, maxCost: "0.01" });
    const shots = expand(
      "shots",
      story.at("scenes"),
      (scenes, words) =>
        scenes.map(({ prompt }, index) => words.job(`shot-${index}`, models.image, { prompt, ...more })),
      bounds,
    );
    return { shots };
  });
}

test("steps that a value leads to are planned, priced and written down before the first of them is paid for", async () => {
  const world = await openFakeShow({ says: says(3) });
  const result = await world.run(scenesOf({ maxSteps: 5, maxCost: "0.30" }));
  const outputs = { shots: [{ contentType: "image/png" }, {}, {}] };
  expect(result).toMatchObject({ status: "succeeded", cost: { micros: 301_000 }, outputs });
  const paths = ["story", "shots", "shots/shot-0", "shots/shot-1", "shots/shot-2"];
  expect(result.report.steps.map(({ path }) => path)).toEqual(paths);
  const events = (await eventsOf(world)).filter((event) => "step" in event && event.step.startsWith("shots"));
  expect(events.slice(0, 5).map(({ type }) => type)).toEqual([
    ...["step.started", "expand.planned", "job.quoted", "job.quoted", "job.quoted"],
  ]);
});

test("a value that leads to nothing is an empty list", async () => {
  const world = await openFakeShow({ says: says(0) });
  expect(await world.run(scenesOf({ maxSteps: 5 }))).toMatchObject({ status: "succeeded", outputs: { shots: [] } });
});

test.each([
  ["its price", scenesOf({ maxSteps: 5, maxCost: "0.30" }), /may cost 0.40 USD, more than its maxCost of 0.30 USD/],
  [
    "mistakes, all told",
    scenesOf({ maxSteps: 5 }, { colour: "red" }),
    /shot-0 input\.colour: .*; .*shot-1 input\.col/s,
  ],
])("an expansion that may not be, for %s, fails before anything of it is paid for", async (_, of, reason) => {
  const { paidService, run } = await openFakeShow({ says: says(4) });
  expect(stepOf(await run(of), "shots").reason).toMatch(reason);
  expect(paidService.jobs.size).toBe(0);
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
  const message = expect.stringMatching(/^shots needs the pipeline's code/);
  expect((await world.resume()).pause).toMatchObject({ reason: "code", message });
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
    const reason = expect.stringMatching(/but part has spent or reserved 0.10 of its maxCost of 0.15 USD/);
    expect(stepOf(result, "part/two")).toMatchObject({ status: "failed", reason });
    expect(result).toMatchObject({ status: "partial", cost: { micros: 200_000 } });
  });

  test("is a problem beforehand where it is surely too little", async () => {
    const whole = pipelineOf("whole", ({ include }) => include("part", part, {}, { maxCost: "0.15" }));
    const { problems } = await (await openFakeShow()).show.quote(whole, {});
    const message = "its steps cost at least 0.20 USD, more than its maxCost of 0.15 USD";
    expect(problems).toEqual([{ code: "over-max-cost", step: "part", field: null, message }]);
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
    const said = quote.prices.find(({ step }) => step === "said");
    expect(said).toMatchObject({ basis: "provisional", costMicros: 100_000 });
  });
});
