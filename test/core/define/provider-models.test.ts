import { expect, test } from "vitest";
import { z } from "zod";
import { catalogOf } from "../../../src/core/catalog/index.ts";
import { type Builder, draft, pipeline } from "../../../src/core/define/index.ts";
import { makePlan } from "../../../src/core/plan/index.ts";

function problems(build: (builder: Builder<unknown>) => object) {
  const { draft: drafted } = draft(pipeline("p", { input: z.object({}), build: build as never }), {});
  const made = makePlan(drafted!, { catalog: catalogOf([]), files: new Map() });
  return made.ok ? [] : made.problems.map(({ step, message }) => `${step}: ${message}`);
}

const older = {
  specificationVersion: "v3",
  provider: "fal.image",
  modelId: "flux",
  maxImagesPerCall: 1,
  doGenerate() {},
};

test.each([
  [older, /^still: the model implements AI SDK specification v3, but Showrunner needs v4; .*npm i @ai-sdk\/fal@latest/],
  [
    { ...older, specificationVersion: "v4", doGenerate: null },
    /^still: the value given is not a supported model; .*fal\.image/,
  ],
  ["fal-ai/flux", /^still: the text "fal-ai\/flux" is not a supported model; /],
  [undefined, /^still: undefined is not a supported model; /],
])("%j in place of a model says what to do next", (model, told) => {
  const options = { maxCost: "0.05" } as never;
  const build: (builder: Builder<unknown>) => object = ({ generate }) => ({
    still: generate("still", model as never, { prompt: "x" } as never, options),
  });
  expect(problems(build)).toEqual([expect.stringMatching(told)]);
});

test("a provider that wants its key as soon as a model is named: any text does in a rehearsal", () => {
  const noKey = Object.assign(new Error("Replicate API key is missing."), { name: "AI_LoadAPIKeyError" });
  expect(
    problems(() => {
      throw noKey;
    }),
  ).toEqual([
    expect.stringMatching(/^null: `build` threw an error: Replicate API key is missing\..*--local.*any text will do/),
  ]);
});
