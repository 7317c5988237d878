import { expect, test } from "vitest";
import { z } from "zod";
import { models } from "../../../recipes/models.ts";
import { draft, pipeline } from "../../../src/core/define/index.ts";
import type { CatalogModel } from "../../../src/core/plan/catalog-port.ts";
import { makePlan, type PlanContext, voiceKey, voicesNamedIn, withSeeds } from "../../../src/core/plan/index.ts";
import type { JobStep } from "../../../src/core/plan/kinds/job.ts";
import { context, planned } from "./support/planned.ts";

const anna = { id: "voice_1", name: "Anna", labels: { language: "en", gender: "female" } };
const speech = (name: string, voice: string) =>
  draft(
    pipeline("p", {
      input: z.unknown(),
      build: ({ job }) => ({
        said: job("said", models.speech, { text: "It rains.", voice_id: voice }),
        other: job("other", models.speech, { text: name, voice_id: voice }),
      }),
    }),
    {},
  ).draft!;

function spoken(voice: string, voices: PlanContext["voices"]) {
  const outcome = makePlan(speech("x", voice), { ...context, ...(voices && { voices }) });
  if (!outcome.ok)
    return outcome.problems.map(({ code, step, field, message, allowed }) => ({ code, step, field, message, allowed }));
  return (outcome.plan.steps[0] as JobStep).input;
}

test("voices that a draft names are listed once per model; ids and empty texts are not names", () => {
  expect(voicesNamedIn(speech("x", "Anna"))).toEqual([{ model: "speech-1", name: "Anna" }]);
  expect(voicesNamedIn(speech("x", "voice_7"))).toEqual([]);
  expect(voicesNamedIn(speech("x", ""))).toEqual([]);
});

test("a voice's name becomes its id; an unknown name and an id stay", () => {
  const voices = new Map([[voiceKey("speech-1", "Anna"), [anna]]]);
  expect(spoken("Anna", voices)).toEqual({ text: "It rains.", voice_id: "voice_1" });
  expect(spoken("Berta", voices)).toMatchObject({ voice_id: "Berta" });
  expect(spoken("voice_9", voices)).toMatchObject({ voice_id: "voice_9" });
  expect(spoken("Anna", undefined)).toMatchObject({ voice_id: "Anna" });
});

test("a name of several voices is a problem that lists them", () => {
  const voices = new Map([[voiceKey("speech-1", "Anna"), [anna, { id: "voice_2", name: "Anna", labels: {} }]]]);
  expect(spoken("Anna", voices)).toEqual(
    ["said", "other"].map((step) => ({
      ...{ code: "ambiguous-voice", step, field: "input.voice_id", allowed: ["voice_1", "voice_2"] },
      message: expect.stringMatching(/^speech-1 has 2 voices named "Anna".*voice_1, en, female; voice_2$/),
    })),
  );
});

test("takes count up from a seed of the run, and not from one of the input", () => {
  const options = { count: 2, choose: "person" } as const;
  const tried = planned(({ takes }) => ({ look: takes("look", models.image, { prompt: "x" }, options) }));
  const seeds = tried.plan!.steps.flatMap((step) =>
    step.kind === "job" ? [(step.input as { seed?: number }).seed] : [],
  );
  expect(seeds).toHaveLength(2);
  expect(seeds[1]! - seeds[0]!).toBe(1);
  const set = withSeeds(tried.plan!, { [tried.plan!.steps[0]!.path]: 77, nobody: 3 });
  expect(set.steps[0]).toMatchObject({ input: { prompt: "x", seed: 77 } });
  expect((set.steps[0] as JobStep).fingerprint).not.toBe((tried.plan!.steps[0] as JobStep).fingerprint);
  expect(set.steps.slice(1)).toEqual(tried.plan!.steps.slice(1));
  expect(withSeeds(tried.plan!, {})).toBe(tried.plan);
});

test.each<[string, Partial<CatalogModel>, string, object]>([
  [
    "retired",
    { state: "retired", replacedBy: "image-2" },
    "retired-model: image-1 is retired; use image-2 instead",
    { replacedBy: "image-2" },
  ],
  [
    "retired alone",
    { state: "retired" },
    "retired-model: image-1 is retired; the service lists no successor; choose another model",
    {},
  ],
  [
    "not there yet",
    { state: "unsupported" },
    "unsupported-model: the service does not offer image-1 yet; choose another model",
    {},
  ],
  [
    "a language model",
    { state: "unknown", modality: "text" },
    "unsupported-model: image-1 is a language model; use it with chat(…)",
    {},
  ],
  [
    "new",
    { state: "unknown", modality: "smell" },
    "unsupported-model: image-1 makes smell, which this version of Showrunner does not support",
    {},
  ],
  [
    "new, of no kind",
    { state: "unknown", modality: "" },
    "unsupported-model: image-1 makes something, which this version of Showrunner does not support",
    {},
  ],
])("a model that is %s is a problem of the step", (_what, changed, text, more) => {
  const found = context.catalog.model("image-1")!;
  const { replacedBy: _, ...plain } = found;
  const catalog = { ...context.catalog, model: () => ({ ...plain, ...changed }), ids: () => ["image-1"] };
  const made = pipeline("p", {
    input: z.unknown(),
    build: ({ job }) => ({ look: job("look", models.image, { prompt: "x" }) }),
  });
  const outcome = makePlan(draft(made, {}).draft!, { ...context, catalog });
  const problems = outcome.ok ? [] : outcome.problems;
  expect(problems.map(({ code, message }) => `${code}: ${message}`)).toEqual([text]);
  expect(problems[0]).toMatchObject({ step: "look", field: "model", ...more });
});
