import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../recipes/models.ts";
import { pipeline, type RunResult } from "../../src/index.ts";
import { localShow } from "../support/local-show.ts";

const world = localShow();
const asked = z.object({ prompt: z.string() });

const still = pipeline("still", {
  input: asked,
  build: ({ input, job }) => ({ still: job("still", models.image, input) }),
});

function stillOf({ report }: RunResult) {
  return report.steps.find(({ path }) => path === "still")!;
}

test("what moderation flagged of a job that it ends is kept with the failure and said of the step", async () => {
  const objection = { code: "MODERATION_FAILED", param: "outputs[0]", category: "violence" } as const;
  world.service.faults([{ kind: "fail_job", retryable: false, ...objection }]);
  const step = stillOf(await world.run(still, { prompt: "a duel" }));
  world.service.faults([]);
  expect(step.reason).toContain("(flagged: outputs[0], violence)");
  expect(step.attempts.at(-1)?.flagged).toEqual({ of: "output", field: "outputs[0]", category: "violence" });
});

test("a submit that moderation refuses names the field and the category", async () => {
  const { faults } = world.service;
  // The price is asked before the word is objectionable.
  faults([{ kind: "error", code: "MODERATION_FAILED", route: "POST /models/{model}" }]);
  const step = stillOf(await world.run(still, { prompt: "a duel at noon" }));
  faults([]);
  expect(step.attempts.at(-1)?.flagged).toEqual({ of: "input", field: null, category: null });
  expect(step.reason).toContain("(flagged: input)");
});
