import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { StepMethods } from "../../../src/core/define/index.ts";
import { pipeline } from "../../../src/index.ts";
import { models, pipelineOf, stepOf } from "../../support/engine.ts";
import { localShow } from "../../support/local-show.ts";

const world = localShow();
const asked = z.object({ prompt: z.string() });

const still = pipeline("still", {
  input: asked,
  build: ({ input, job }) => ({ still: job("still", models.image, input) }),
});

test("what moderation flagged of a job that it ends is kept with the failure and said of the step", async () => {
  const objection = { code: "MODERATION_FAILED", param: "outputs[0]", category: "violence" } as const;
  world.service.faults([{ kind: "fail_job", retryable: false, ...objection }]);
  const step = stepOf(await world.run(still, { prompt: "a duel" }), "still");
  world.service.faults([]);
  expect(step.reason).toContain("(flagged: outputs[0], violence)");
  expect(step.attempts.at(-1)?.flagged).toEqual({ of: "output", field: "outputs[0]", category: "violence" });
});

test("a submit that moderation refuses names the field and the category", async () => {
  const { faults } = world.service;
  // The price is asked before the word is objectionable.
  faults([{ kind: "error", code: "MODERATION_FAILED", route: "POST /models/{model}" }]);
  const step = stepOf(await world.run(still, { prompt: "a duel at noon" }), "still");
  faults([]);
  expect(step.attempts.at(-1)?.flagged).toEqual({ of: "input", field: null, category: null });
  expect(step.reason).toContain("(flagged: input)");
});

const either = (onModerated: "stop" | "next", words: readonly [string, string]) =>
  pipelineOf("either", ({ firstOf }) => ({
    face: firstOf(
      "face",
      words.map((prompt) => (b: StepMethods) => b.job("still", models.image, { prompt })),
      { onModerated },
    ),
  }));

describe("an option whose prompt is refused in the estimate already", () => {
  test("is taken out of the plan, which is priced without it", async () => {
    const of = either("next", ["moderation-refused:violence", "a boat"]);
    const message = expect.stringContaining("was refused by moderation (violence)");
    const quote = await world.show.quote(of, {});
    expect(quote).toMatchObject({
      problems: [],
      prices: [{ step: "face/2/still" }, { step: "face/pick" }],
      warnings: [{ code: "option-out", step: "face/1", message }],
    });
    expect(quote.totalMicros.max).toBeGreaterThan(0);
    const result = await world.run(of);
    expect(result.status).toBe("succeeded");
    expect(stepOf(result, "face/pick").reason).toContain("face/1 was ruled out");
  });

  test.each([
    ["stop", ["moderation-refused", "a boat"], "face/1/still"],
    ["next", ["a boat", "moderation-refused"], "face/2/still"],
  ] as const)("refuses the plan with onModerated %s, and in the last option", async (said, words, step) => {
    const quote = await world.show.quote(either(said, words), {});
    expect(quote.problems).toMatchObject([{ code: "moderated", step }]);
  });

  test("leaves an expansion that goes on with the next option", async () => {
    const grown = pipelineOf("grown", ({ task, expand }) => {
      const words = task("words", {}, () => ["moderation-refused", "a boat"]);
      const each = (prompts: readonly string[], b: StepMethods) => [
        b.firstOf(
          "face",
          prompts.map((prompt) => (c: StepMethods) => c.job("still", models.image, { prompt })),
          { onModerated: "next" },
        ),
      ];
      return { made: expand("each", words, each, { maxSteps: 5 }) };
    });
    expect((await world.run(grown)).status).toBe("succeeded");
  });
});
