import { describe, expect, test } from "vitest";
import { models } from "../../../recipes/models.ts";
import { isOwnSource, resolveInput } from "../../../src/core/plan/index.ts";
import type { Json, Reference } from "../../../src/core/plan/plan.ts";
import { editedFields, withEdits, withOverlay } from "../../../src/core/plan/profile.ts";
import { planned } from "./support/planned.ts";

const ref = (step: string, output: Reference["$ref"]["output"] = 0) =>
  ({ $ref: { step, as: "value", output } }) as Json;
const results: Readonly<Record<string, Json | undefined>> = { a: "A", list: ["x", ["y"]], gone: undefined };
const resolved = (input: Json) => resolveInput(input, ({ step }) => results[step]);

describe("an input whose references are replaced by results", () => {
  test.each<[string, Json, Json]>([
    ["a result", ref("a"), "A"],
    ["a record", { p: ref("a"), q: 1 }, { p: "A", q: 1 }],
    ["a list of all outputs spreads", [0, ref("list", "all"), 9], [0, "x", ["y"], 9]],
    ["a single value that is a list does not", [0, ref("list"), 9], [0, ["x", ["y"]], 9]],
    ["lists within lists stay", [[ref("a")], [[1, 2]]], [["A"], [[1, 2]]]],
    ["a record in a list that is named like a reference's parts", [{ output: "all" }], [{ output: "all" }]],
    ["a missing result leaves its list", [1, ref("gone"), 2], [1, 2]],
    ["a missing result leaves its record", { p: ref("gone"), q: 1 }, { q: 1 }],
    ["a missing result alone", ref("gone"), null],
    ["a text", { $text: ["one ", ref("a"), " ", ref("list"), " ", 2] }, 'one A ["x",["y"]] 2'],
    ["a text without a piece of it", { p: { $text: ["one ", ref("gone")] } }, {}],
    ["false, zero, null and the empty text", [false, 0, null, ""], [false, 0, null, ""]],
  ])("%s", (_, input, expected) => {
    expect(resolved(input)).toEqual(expected);
  });

  test("only `source: upload`, with any number of $ before it, is a file to be uploaded", () => {
    const all: readonly [string, unknown][] = [
      ["source", "upload"],
      ["source", "$$upload"],
      ["source", "uploaded"],
      ["source", "a upload"],
      ["source", 1],
      ["from", "upload"],
    ];
    expect(all.map(([name, value]) => isOwnSource(name, value))).toEqual([true, true, false, false, false, false]);
  });
});

describe("edits of a run's inputs", () => {
  const set = (fields: { readonly [field: string]: Json }, without: readonly string[] = []) => ({
    set: fields,
    without,
  });

  test("are merged by field: the later edit of a field counts, whichever way it goes", () => {
    const first = { a: set({ x: 1, y: 1 }, ["z"]), b: set({ x: 1 }) };
    expect(withEdits(first, { a: set({ y: 2 }) })).toEqual({ a: set({ x: 1, y: 2 }, ["z"]), b: set({ x: 1 }) });
    expect(withEdits(first, { a: set({ z: 3 }) })).toEqual({ a: set({ x: 1, y: 1, z: 3 }), b: set({ x: 1 }) });
    expect(withEdits(first, { a: set({}, ["x", "z"]) })).toEqual({ a: set({ y: 1 }, ["x", "z"]), b: set({ x: 1 }) });
    expect(withEdits(first, { c: set({ x: 1 }) })).toEqual({ ...first, c: set({ x: 1 }) });
    expect(withEdits({}, { toString: set({ x: 1 }) })).toEqual({ toString: set({ x: 1 }) });
  });

  test("name the fields that they change", () => {
    expect(editedFields({ a: set({ x: 1 }, ["y"]) }, "a")).toEqual(["x", "y"]);
    expect(editedFields({ a: set({ x: 1 }) }, "b")).toEqual([]);
    expect(editedFields({}, "toString")).toEqual([]);
    expect(editedFields(undefined, "a")).toEqual([]);
  });

  const { draft } = planned(({ job, chat, task }) => {
    const still = job("still", models.image, { prompt: "x", quality: "pro" });
    const told = chat("told", "chat-1", { prompt: "x" });
    return { still, told, more: task("more", { still }, () => 1) };
  });
  const stepIn = (edits: Parameters<typeof withOverlay>[1]["edits"], path: string) =>
    withOverlay(draft, { edits }).steps.find((step) => step.path === path) as unknown as Record<string, unknown>;

  test("change the step that they name, and leave the others", () => {
    const edits = { still: set({ prompt: "y" }, ["quality"]) };
    expect(stepIn(edits, "still")).toMatchObject({ input: { prompt: "y" } });
    expect(stepIn(edits, "still").input).not.toHaveProperty("quality");
    expect(stepIn(edits, "told")).toEqual(draft.steps.find(({ path }) => path === "told"));
    expect(stepIn({}, "still")).toEqual(draft.steps.find(({ path }) => path === "still"));
  });

  test.each<[ReturnType<typeof set>, boolean]>([
    [set({ seed: 1 }), true],
    [set({}, ["seed"]), true],
    [set({ prompt: "y" }), false],
  ])("of a seed are noted on jobs, as takes have seeds of their own (%j)", (edit, isNoted) => {
    expect("isSeedEdited" in stepIn({ still: edit }, "still")).toBe(isNoted);
    expect("isSeedEdited" in stepIn({ told: edit }, "told")).toBe(false);
  });
});
