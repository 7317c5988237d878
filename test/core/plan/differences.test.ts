import { describe, expect, test } from "vitest";
import {
  changesBetween,
  diffPlans,
  expansionsIn,
  outerPaths,
  renameIn,
  withDependents,
} from "../../../src/core/plan/diff.ts";
import type { Json, PlanStep } from "../../../src/core/plan/plan.ts";
import { job, planOf, ref } from "../run/support/plans.ts";
import { expansion, gate, task, upload, valueRef } from "../run/support/steps.ts";

const diff = (before: readonly PlanStep[], after: readonly PlanStep[]) => diffPlans(planOf(before), planOf(after));
const film = (of: string, more: object = {}) => job("film", { image: ref(of), ...more });

describe("a plan compared with an earlier one", () => {
  test("has steps that are the same, changed, new and gone; what uses the changed and new ones is stale", () => {
    const before = [job("a"), job("b", { fps: 1 }), job("gone"), film("a"), job("end", { image: ref("b") })];
    const after = [job("b", { fps: 2 }), job("a"), film("a"), job("end", { image: ref("b") }), job("new", { x: 1 })];
    expect(diff(before, after)).toEqual({
      unchanged: ["a", "film", "end"],
      changed: [{ path: "b", fields: [{ field: "input.fps", before: 1, after: 2 }] }],
      added: ["new"],
      removed: ["gone"],
      renamed: [],
      stale: ["b", "end", "new"],
    });
  });

  test("that only renames a step and what refers to it makes nothing again", () => {
    const [a, hero] = [job("a", { prompt: "one" }), job("hero", { prompt: "one" })];
    expect(diff([a, film("a")], [hero, film("hero")])).toEqual({
      ...{ unchanged: ["film"], changed: [], added: [], removed: [], stale: [] },
      renamed: [{ from: "a", to: "hero" }],
    });
    // The steps behind it have other names too, and a condition on it.
    const on = (step: string) => ({ when: { ref: valueRef(step).$ref, is: "truthy" } }) as const;
    const said = (path: string) => ({ ...task(path, { n: 1 }), fingerprint: "f1_said" });
    const later = (path: string, of: string, on_: object) => ({
      ...job(path, { prompt: "x", image: ref(of) }),
      ...on_,
    });
    const before = [a, said("ask"), later("film", "a", on("ask")), later("end", "film", { when: { failed: "a" } })];
    const after = [
      hero,
      said("say"),
      later("movie", "hero", on("say")),
      later("last", "movie", { when: { failed: "hero" } }),
    ];
    for (const list of [before, after])
      for (const step of list.slice(2)) Object.assign(step, { needs: [...step.needs] });
    expect(diff(before, after).renamed).toEqual([
      { from: "a", to: "hero" },
      { from: "ask", to: "say" },
      { from: "film", to: "movie" },
      { from: "end", to: "last" },
    ]);
  });

  test("does not take another kind, another condition or other references for the same step", () => {
    const a = job("a", { prompt: "p" });
    const same = { ...upload("b"), fingerprint: a.fingerprint };
    expect(diff([a], [same])).toMatchObject({ renamed: [], added: ["b"], removed: ["a"] });
    const gated: PlanStep = { ...film("a"), when: { failed: "a" } };
    expect(diff([a, film("a")], [a, gated]).changed).toEqual([
      { path: "film", fields: [{ field: "when", before: undefined, after: { failed: "a" } }] },
    ]);
    expect(diff([a, gated], [a, gated]).changed).toEqual([]);
    const other = job("other", { prompt: "p" });
    expect(diff([a, job("b"), film("a")], [a, job("b"), film("b")]).changed).toEqual([
      { path: "film", fields: [{ field: "input.image", before: ref("a"), after: ref("b") }] },
    ]);
    expect(diff([a, film("a")], [other, film("other", { fps: 2 })])).toMatchObject({
      renamed: [{ from: "a", to: "other" }],
      changed: [{ path: "film", fields: [{ field: "input.fps", before: undefined, after: 2 }] }],
    });
  });

  test("gives each renamed step one name, in plan order", () => {
    const [a, b, c, d] = ["a", "b", "c", "d"].map((path) => job(path, { prompt: "same" }));
    expect(diff([a!, b!], [c!, d!]).renamed).toEqual([
      { from: "a", to: "c" },
      { from: "b", to: "d" },
    ]);
    expect(diff([a!], [c!, d!])).toMatchObject({ renamed: [{ from: "a", to: "c" }], added: ["d"] });
  });
});

test("a step with new names has them in its path, needs, references and conditions, and nothing else changes", () => {
  const names = new Map([
    ["a", "hero"],
    ["ask", "say"],
  ]);
  const step: PlanStep = {
    ...job("film", { images: [ref("a", "all"), ref("b")], text: { $text: ["a", valueRef("ask")] }, none: null }),
    needs: ["a", "ask", "b"],
    when: { ref: valueRef("ask", ["ok"]).$ref, equals: "a" },
  };
  expect(renameIn(step, names)).toEqual({
    ...step,
    input: {
      prompt: "film",
      images: [ref("hero", "all"), ref("b")],
      text: { $text: ["a", valueRef("say")] },
      none: null,
    },
    needs: ["b", "hero", "say"],
    when: { ref: valueRef("say", ["ok"]).$ref, equals: "a" },
  });
  expect(renameIn({ ...job("a"), when: { failed: "b" } }, names)).toEqual({
    ...job("a"),
    path: "hero",
    when: { failed: "b" },
  });
  const other = job("other", { image: ref("b") });
  expect(renameIn(other, names)).toBe(other);
  expect(Object.keys(renameIn(job("a"), names))).not.toContain("when");
});

test.each<[Json, Json, Json]>([
  [{ a: 1 }, { a: 1 }, []],
  [
    { a: { b: [1, 2] } },
    { a: { b: [1, 3, 4] } },
    [
      ["a.b[1]", 2, 3],
      ["a.b[2]", null, 4],
    ],
  ],
  [{ a: 1, b: 2 }, { b: 2 }, [["a", 1, null]]],
  [{ a: [] }, { a: {} }, [["a", [], {}]]],
  [{ a: null }, { a: {} }, [["a", null, {}]]],
  [{ a: "x" }, { a: { b: 1 } }, [["a", "x", { b: 1 }]]],
  [1, 2, [["", 1, 2]]],
  [{ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }, []],
  [
    { a: ref("x") as unknown as Json },
    { a: ref("x", 1) as unknown as Json },
    [["a", ref("x") as unknown as Json, ref("x", 1) as unknown as Json]],
  ],
])("%j and %j differ where %j", (before, after, changes) => {
  expect(changesBetween(before, after).map((one) => [one.field, one.before ?? null, one.after ?? null])).toEqual(
    changes,
  );
});

test("dependents are all that use a step, directly or not; an expansion uses what it was planned into", () => {
  const steps = [
    ...[task("v"), expansion("grow", valueRef("v")), job("grow/1"), job("grow/1/deep"), job("plain/1")],
    ...[gate("plain", [ref("plain/1")]), job("end", { image: ref("grow") }), job("last", { image: ref("end") })],
  ];
  expect([...expansionsIn(steps)]).toEqual(["grow"]);
  expect([...withDependents(steps, ["grow/1/deep"])].sort()).toEqual(["end", "grow", "grow/1/deep", "last"]);
  expect([...withDependents(steps, ["v"])].sort()).toEqual(["end", "grow", "last", "v"]);
  expect([...withDependents(steps, ["plain/1"])].sort()).toEqual(["plain", "plain/1"]);
  expect([...withDependents(steps, [])]).toEqual([]);
  expect([outerPaths("a/b/c"), outerPaths("a")]).toEqual([["a/b", "a"], []]);
});
