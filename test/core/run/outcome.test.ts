import { expect, test } from "vitest";
import type { Plan } from "../../../src/core/plan/plan.ts";
import { FakeRun } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";

/** Names of files with what they hold. */
function placed(returns: Plan["returns"]) {
  const run = FakeRun.through({ plan: planOf([job("a", {}, { outputs: 2 }), job("b")], returns) });
  expect(run.state.status).toBe("succeeded");
  return Object.fromEntries(run.state.files.map(({ name, step, index }) => [name, `${step} ${index}`]));
}

test("parts of a list are counted from 1, and others have the names that they were returned under", () => {
  expect(placed({ shot: ref("a", "all"), deep: { one: [ref("b")] } })).toEqual({
    "shot-1": "a 0",
    "shot-2": "a 1",
    "deep.one-1": "b 0",
  });
});

test("a name that the pipeline gave stays, and one that was counted gives way to it", () => {
  const expected = { "shot-1": "a 0", "shot-2": "b 0", "shot-2-2": "a 1" };
  expect(placed({ shot: ref("a", "all"), "shot-2": ref("b") })).toEqual(expected);
  expect(placed({ "shot-2": ref("b"), shot: ref("a", "all") })).toEqual(expected);
  const listed = { "shot-1": "b 0", "shot-1-2": "a 0", "shot-2": "a 1" };
  expect(placed({ shot: [ref("a", 0), ref("a", 1)], "shot-1": ref("b") })).toEqual(listed);
});

test("outputs of a list in a list are counted in each, and no name needs quotes in a shell", () => {
  const names = Object.keys(placed({ shots: [ref("a", "all"), [ref("b")]] }));
  expect(names).toEqual(["shots-1-1", "shots-1-2", "shots-2-1"]);
});

test("two that would have one name are both placed, and none takes the name of a third", () => {
  expect(placed({ a: { b: ref("a", 0) }, "a.b": ref("a", 1), "a.b-2": ref("b") })).toEqual({
    "a.b": "a 0",
    "a.b-2": "b 0",
    "a.b-3": "a 1",
  });
});

test("one output that is returned twice under one name is one file", () => {
  expect(placed({ a: { b: ref("b") }, "a.b": ref("b") })).toEqual({ "a.b": "b 0" });
});
