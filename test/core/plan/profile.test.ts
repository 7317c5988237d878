import { describe, expect, test } from "vitest";
import type { Draft, DraftStep } from "../../../src/core/plan/plan.ts";
import {
  type AppliedProfile,
  matchesPattern,
  profileModels,
  profileProblems,
  withOverlay,
} from "../../../src/core/plan/profile.ts";

describe("a pattern", () => {
  test.each([
    ["shot", "shot", true],
    ["shot", "shots", false],
    ["shot", "a shot", false],
    ["*", "", true],
    ["*", "a/b", true],
    ["shot/*", "shot/1", true],
    ["shot/*", "shot", false],
    ["shot*", "shot", true],
    ["*shot", "my/shot", true],
    ["*shot", "my/shot1", false],
    ["a*b", "ab", true],
    ["a*b", "a-b-b", true],
    ["a*b", "a-b-c", false],
    ["a*a", "a", false],
    ["a*b*c", "a1b2c", true],
    ["a*b*c", "a1c2b", false],
    ["a*bc*c", "abc", false],
    ["a*b*b", "ab", false],
    ["**", "x", true],
    ["*b*", "abc", true],
    ["*b*", "acd", false],
  ])("%s: does %s match? %s", (pattern, path, does) => {
    expect(matchesPattern(pattern, path)).toBe(does);
  });
});

const job = (path: string, model: string, input: unknown = {}) =>
  ({ kind: "job", path, model, input }) as unknown as DraftStep;
const draftOf = (...steps: readonly DraftStep[]) => ({ pipeline: "p", steps }) as unknown as Draft;
const none = { set: {}, without: [] };
const profile = (more: Partial<AppliedProfile>): AppliedProfile => ({
  name: "draft",
  models: {},
  fields: {},
  steps: {},
  ...more,
});

describe("a profile applied", () => {
  const steps = (more: Partial<AppliedProfile>, ...own: readonly DraftStep[]) =>
    withOverlay(draftOf(...own), { profile: profile(more) }).steps;

  test("exchanges models wherever they stand, and leaves what has none", () => {
    const gate = { kind: "approve", path: "ok" } as unknown as DraftStep;
    const [a, b, ok] = steps({ models: { big: "small" } }, job("a", "big"), job("b", "other"), gate);
    expect([a, b]).toEqual([job("a", "small"), job("b", "other")]);
    expect(ok).toBe(gate);
    expect(steps({}, job("a", "toString"))).toEqual([job("a", "toString")]);
  });

  test("exchanges the model of a step rather than that, the last of several that say one", () => {
    const own = { "*": { ...none, model: "one" }, "a*": { ...none, model: "two" }, a: { ...none, model: null } };
    expect(steps({ models: { big: "small" }, steps: own }, job("a", "big"), job("b", "big"))).toEqual([
      job("a", "two"),
      job("b", "one"),
    ]);
  });

  test("sets and leaves out fields of the model that a step now has, then of the step", () => {
    const fields = {
      small: { set: { quality: "low", fps: 12 }, without: ["seed"] },
      big: { set: { never: 1 }, without: [] },
    };
    const own = { a: { set: { fps: 8 }, without: ["quality"], model: null } };
    const input = { prompt: "p", seed: 4, quality: "high" };
    expect(
      steps({ models: { big: "small" }, fields, steps: own }, job("a", "big", input), job("b", "small", input)),
    ).toEqual([
      job("a", "small", { prompt: "p", fps: 8 }),
      job("b", "small", { prompt: "p", quality: "low", fps: 12 }),
    ]);
  });

  test.each(["a reference", null, [1]])("leaves an input that has no fields: %j", (input) => {
    expect(steps({ fields: { m: { set: { fps: 1 }, without: [] } } }, job("a", "m", input))).toEqual([
      job("a", "m", input),
    ]);
  });
});

describe("a profile that names what there is not", () => {
  const catalog = {
    ids: () => ["image-1", "video-1"],
    model: (id: string) => (["image-1", "video-1"].includes(id) ? ({ id } as never) : null),
  };
  const draft = draftOf(job("film", "image-1"), { kind: "expand", path: "shots" } as unknown as DraftStep);
  const problems = (more: Partial<AppliedProfile>) => profileProblems(draft, profile(more), catalog);
  const step = { ...none, model: null };

  test("steps: says so with the nearest name; not of patterns, nor of what an expansion may plan", () => {
    expect(problems({ steps: { film: step, "no*": step, "shots/1": step } })).toEqual([]);
    const unknown = { code: "unknown-step", step: null };
    expect(problems({ steps: { flim: step, another: step } })).toEqual([
      {
        ...{ ...unknown, field: "profiles.draft.steps.flim", allowed: ["film"] },
        message: "the plan has no step flim; did you mean film?",
      },
      {
        ...{ ...unknown, field: "profiles.draft.steps.another", allowed: [] },
        message: "the plan has no step another; use * in the name to match steps that exist only for some inputs",
      },
    ]);
  });

  test("models: wherever it names one", () => {
    const more = {
      models: { "image-2": "video-1", "video-1": "nothing" },
      fields: { "image-1": none, else: none },
      steps: { film: { ...none, model: "video1" }, "*": step },
    };
    const said = (id: string, next: string) => `the service has no model ${id}; ${next}`;
    const list = "list the models with: showrunner models list";
    expect(problems(more).map(({ code, field, message, allowed }) => [code, field, message, allowed])).toEqual([
      ["unknown-model", "profiles.draft.models.image-2", said("image-2", "did you mean image-1?"), ["image-1"]],
      ["unknown-model", "profiles.draft.models.video-1", said("nothing", list), []],
      ["unknown-model", "profiles.draft.fields.else", said("else", list), []],
      ["unknown-model", "profiles.draft.steps.film", said("video1", "did you mean video-1?"), ["video-1"]],
    ]);
    expect(profileModels(profile(more))).toEqual(["image-2", "video-1", "nothing", "image-1", "else", "video1"]);
  });
});
