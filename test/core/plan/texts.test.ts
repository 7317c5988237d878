import { expect, test } from "vitest";
import type { DraftStep, PlanStep } from "../../../src/core/plan/plan.ts";
import { placesOf, repeatedTexts, withInputs, withTexts } from "../../../src/core/plan/texts.ts";

const change = { before: "A quay at night", after: "A quay at noon" };
const task = (path: string, input: unknown) => ({ kind: "task", path, input }) as unknown as PlanStep & DraftStep;
const job = (path: string, input: unknown) =>
  ({ kind: "job", path, model: "image-1", input }) as unknown as PlanStep & DraftStep;

test.each([
  ["the whole text", "A quay at night", "A quay at noon"],
  ["each place in a longer one", "A quay at night. A quay at night!", "A quay at noon. A quay at noon!"],
  [
    "in lists and objects",
    { lines: [{ text: "A quay at night", ms: 3 }] },
    { lines: [{ text: "A quay at noon", ms: 3 }] },
  ],
  ["not in a reference", { $ref: { step: "A quay at night" } }, { $ref: { step: "A quay at night" } }],
  ["nothing else", [null, true, 4, "A quay"], [null, true, 4, "A quay"]],
])("a replaced text is replaced: %s", (_what, value, result) => {
  expect(withTexts(value as never, [change])).toEqual(result);
});

test.each([
  ["night", "one night", "one night"],
  ["night", "night", "noon"],
  ["twelve-chars", "so twelve-chars it", "so noon it"],
  ["eleven-char", "so eleven-char it", "so eleven-char it"],
  ["two words", "so two words it", "so noon it"],
  ["a ", "a a ", "a a "],
])("%j is replaced inside of a longer text only if it is long enough: %j", (before, text, result) => {
  expect(withTexts(text, [{ before, after: "noon" }])).toBe(result);
});

test("a replacement is taken literally, and several apply in order", () => {
  const texts = [change, { before: "A quay at noon", after: "$& and $1" }];
  expect(withTexts("See: A quay at night", texts)).toBe("See: $& and $1");
});

test("places that still contain an old text are listed by step and field", () => {
  const steps = [
    job("still", { prompt: "A quay at night", tags: ["x", { of: "A quay at night" }], seed: 4 }),
    task("caption", { lines: [{ text: { $text: ["So ", "A quay at night"] } }], from: { $ref: { step: "still" } } }),
    job("other", { prompt: "A quay at noon" }),
    { kind: "upload", path: "file" } as unknown as PlanStep,
  ];
  const text = "A quay at night";
  expect(placesOf(steps, [change])).toEqual([
    { step: "still", field: "input.prompt", text, isLocal: false },
    { step: "still", field: "input.tags[1].of", text, isLocal: false },
    { step: "caption", field: "input.lines[0].text[1]", text, isLocal: true },
  ]);
  expect(placesOf(steps, [])).toEqual([]);
});

test.each([
  ["extends it", "A quay at night, in rain", "A quay at night, in rain", 0],
  ["extends it, beside an old one", "A quay at night, in rain", "A quay at night, in rain; A quay at night", 1],
  ["is empty", "", "By A quay at night", 1],
  ["is empty, and nothing is old", "", "By day", 0],
])("an old text inside the new one is not an old place: the new one %s", (_what, after, shown, places) => {
  expect(placesOf([task("caption", { shown })], [{ before: "A quay at night", after }])).toHaveLength(places);
});

test("a local function that repeats a job's prose is found once; settings and references are not prose", () => {
  const steps = [
    job("still", {
      prompt: "A quay at night",
      aspect_ratio: "16:9",
      style: "夜の港に停まる大きな白い船",
      id: "abcdefghijklmnop",
    }),
    job("again", { prompt: "A quay at night" }),
    job("none", null),
    task("caption", { lines: ["A quay at night", "A quay at night"] }),
    task("poster", { title: "夜の港に停まる大きな白い船" }),
    task("plain", { ratio: "16:9", id: "abcdefghijklmnop", at: { $ref: { step: "still" } }, of: { $input: {} } }),
  ];
  expect(repeatedTexts(steps)).toEqual([
    { step: "caption", field: "input.lines[0]", text: "A quay at night", of: { step: "still", field: "prompt" } },
    { step: "poster", field: "input.title", text: "夜の港に停まる大きな白い船", of: { step: "still", field: "style" } },
  ]);
  expect(repeatedTexts(steps.slice(3))).toEqual([]);
});

test("fields of other inputs are put where a step takes them; what is missing is null", () => {
  const taken = (field: string) => ({ $input: { step: "still", field } });
  const step = task("caption", {
    lines: [taken("prompt"), taken("toString"), { $ref: { step: "x" } }],
    n: 1,
    deep: { of: taken("seed") },
  });
  const inputOf = (path: string) => (path === "still" ? { prompt: "A quay", seed: 4 } : undefined);
  expect(withInputs(step, inputOf)).toEqual(
    task("caption", { lines: ["A quay", null, { $ref: { step: "x" } }], n: 1, deep: { of: 4 } }),
  );
  expect(withInputs(step, () => undefined)).toMatchObject({ input: { lines: [null, null, {}], deep: { of: null } } });
  const upload = { kind: "upload", path: "file" } as never;
  expect(withInputs(upload, inputOf)).toBe(upload);
});
