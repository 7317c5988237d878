import { describe, expect, test } from "vitest";
import type { Json, PlanStep, Reference } from "../../../src/core/plan/plan.ts";
import {
  areSkippedByCondition,
  isAtHand,
  missingReason,
  readerOf,
  referenced,
  referencedValue,
  resolveReference,
  tally,
} from "../../../src/core/run/resolve.ts";
import { returnedReferences } from "../../../src/core/run/returned.ts";
import { copy, uncopied } from "./support/attempts.ts";
import { runningState } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { expansion, gate, pick, task, upload, uploadRef, valueRef } from "./support/steps.ts";

const made = (...outputs: readonly object[]) => ({ status: "succeeded", outputs });
const file = { sha256: "f", sizeBytes: 1, contentType: "image/jpeg" };
const chosen = (step: string, index: number) => ({ status: "succeeded", chosen: { step, index } });
const approved = { status: "succeeded", approval: { approved: true, note: null } };

/** Some steps that have ended: jobs, a file, values, choices, approvals and an expansion. */
const state = runningState([
  [
    job("a"),
    made(uncopied(0), uncopied(1, { phase: "downloaded", copy }), uncopied(2, { status: "FAILED", phase: "failed" })),
  ],
  [job("gone"), made(uncopied(0, { phase: "expired" }), uncopied(1, { phase: "archived", copy }))],
  [job("none"), { status: "failed" }],
  [job("unwanted"), { status: "skipped", skippedByCondition: true }],
  [job("clone"), made(uncopied(0, { phase: "expired", voiceId: "v1" }))],
  [upload("f"), { status: "succeeded", upload: file }],
  [upload("lost"), { status: "failed" }],
  [task("v"), { status: "succeeded", value: { hero: { name: "Ada" }, list: [1, 2], none: null } }],
  [task("w"), { status: "succeeded", value: "text" }],
  [task("late"), { status: "running" }],
  [pick("best", [ref("none"), ref("a", "all")]), chosen("a", 1)],
  [pick("bestFile", [uploadRef("f"), ref("a")]), chosen("f", 0)],
  [pick("bestValue", [valueRef("late"), valueRef("v")]), chosen("v", 1)],
  [pick("bestGone", [ref("gone")]), chosen("gone", 0)],
  [gate("ok", [ref("a", "all"), ref("gone", 1)]), approved],
  [gate("okValue", [valueRef("v", ["hero"])]), approved],
  [gate("open", [ref("a", "all")]), { status: "running" }],
  [expansion("grow", valueRef("v")), { status: "succeeded", expanded: [ref("a"), ref("none"), valueRef("w")] }],
  [expansion("empty", valueRef("v")), { status: "succeeded", expanded: [] }],
] as readonly (readonly [PlanStep, object])[]);

const places = (one: Reference) => referenced(state, one.$ref).map(({ step, output: { index } }) => `${step} ${index}`);

describe("the outputs of a reference", () => {
  test.each([
    [ref("a", "all"), ["a 0", "a 1"]],
    [ref("a", 1), ["a 1"]],
    [ref("a", 2), []],
    [ref("gone", "all"), ["gone 1"]],
    [ref("clone"), ["clone 0"]],
    [ref("nothing"), []],
    [ref("none", "all"), []],
    [ref("best"), ["a 1"]],
    [ref("best", "chosen"), ["a 1"]],
    [ref("bestGone"), []],
    [ref("ok", "all"), ["a 0", "a 1", "gone 1"]],
    [ref("ok", 2), ["gone 1"]],
    [ref("ok", 3), []],
    [ref("ok", "chosen"), ["a 0"]],
    [ref("open", "all"), []],
    [ref("grow", "all"), ["a 0"]],
    [ref("grow", 0), ["a 0"]],
    [ref("grow", 1), []],
    [ref("a", "chosen"), ["a 0"]],
  ])("are those that can be used, of what it stands for: %j", (one, expected) => {
    expect(places(one)).toEqual(expected);
  });
});

describe("the value of a reference", () => {
  test.each([
    [valueRef("v", ["hero", "name"]), "Ada"],
    [valueRef("v", ["list", "1"]), 2],
    [valueRef("v", ["none"]), null],
    [valueRef("v", ["none", "x"]), undefined],
    [valueRef("v", ["toString"]), undefined],
    [valueRef("w"), "text"],
    [valueRef("w", ["length"]), undefined],
    [valueRef("late"), undefined],
    [valueRef("nothing"), undefined],
    [valueRef("bestValue", ["hero"]), { name: "Ada" }],
    [valueRef("okValue"), { name: "Ada" }],
    [valueRef("okValue", ["name"]), "Ada"],
    [valueRef("grow", undefined, "all"), ["text"]],
    [valueRef("grow"), "text"],
    [valueRef("grow", undefined, "all"), ["text"]],
  ])("is what it yielded there: %j", (one, expected) => {
    expect(referencedValue(state, one.$ref)).toEqual(expected);
  });
});

describe("what a reference is resolved to", () => {
  const asset = (id: string) => ({ source: "asset", asset_id: id });
  const local = ({ sha256, contentType }: typeof copy) => ({ $file: { sha256, contentType } });

  test.each<[Reference, Json | undefined]>([
    [ref("a"), asset("x0")],
    [ref("a", "all"), [asset("x0"), asset("x1")]],
    [ref("gone", 1), { source: "upload", sha256: "c" }],
    [ref("clone"), "v1"],
    [ref("none"), undefined],
    [uploadRef("f"), { source: "upload", sha256: "f" }],
    [ref("bestFile"), { source: "upload", sha256: "f" }],
    [valueRef("w"), "text"],
    [valueRef("w", undefined, "all"), ["text"]],
    [valueRef("v", ["list"], "all"), [1, 2]],
    [valueRef("late", undefined, "all"), undefined],
  ])("for the service is assets, uploads, voices and values: %j", (one, expected) => {
    expect(resolveReference(state, one.$ref, "service")).toEqual(expected);
  });

  test("for a local function is files, which must be here", () => {
    expect(resolveReference(state, ref("a", 1).$ref, "local")).toEqual(local(copy));
    expect(resolveReference(state, ref("clone").$ref, "local")).toBe("v1");
    expect(resolveReference(state, uploadRef("f").$ref, "local")).toEqual(local(file));
    const here = (one: Reference) => isAtHand(state, one.$ref, "local");
    expect([ref("a"), ref("a", 1), ref("a", "all"), ref("clone"), uploadRef("f"), valueRef("v")].map(here)).toEqual([
      ...[false, true, false, true, true, true],
    ]);
    expect([readerOf(task("t")), readerOf(job("j"))]).toEqual(["local", "service"]);
  });
});

describe("why the target of a reference does not exist", () => {
  const rerun = (step: string) =>
    `expired on the service and has no local copy; rerun the step with: showrunner resume r --rerun ${step}`;

  test.each([
    [ref("a"), null],
    [ref("a", "all"), "needs all outputs of a, but 1 of 3 failed"],
    [ref("a", 2), "needs output 2 of a, which failed"],
    [ref("a", 3), "needs output 3 of a, which failed"],
    [ref("none"), "needs output 0 of none, which does not exist"],
    [ref("none", "all"), "needs the outputs of none, which does not exist"],
    [ref("unwanted"), "needs output 0 of unwanted, which was skipped by a condition"],
    [ref("gone"), `needs output 0 of gone, which ${rerun("gone")}`],
    [ref("gone", "all"), "needs all outputs of gone, but 1 of 2 failed"],
    [ref("bestGone", "chosen"), `needs the outputs of bestGone, which ${rerun("gone")}`],
    [ref("best", "chosen"), null],
    [ref("bestFile"), null],
    [ref("empty", "all"), null],
    [uploadRef("f"), null],
    [uploadRef("lost"), "the file of lost does not exist"],
    [valueRef("v", ["hero"]), null],
    [valueRef("v", ["villain", "name"]), "needs the value of v at villain.name, which does not exist"],
    [valueRef("late"), "needs the value of late, which does not exist"],
  ])("%j", (one, expected) => {
    expect(missingReason(state, one.$ref)).toBe(expected);
  });
});

test.each([
  [ref("a", "all"), 3, 2],
  [ref("a"), 1, 1],
  [ref("a", 2), 1, 0],
  [ref("none", "all"), 1, 0],
  [ref("nothing"), 1, 0],
  [ref("unwanted", "all"), 0, 0],
  [ref("best", "all"), 1, 1],
  [ref("bestFile"), 1, 1],
  [ref("ok"), 1, 1],
  [ref("grow", "all"), 3, 2],
  [ref("grow"), 1, 1],
  [ref("empty", "all"), 0, 0],
  [uploadRef("f"), 1, 1],
  [uploadRef("lost"), 1, 0],
  [valueRef("v"), 1, 1],
  [valueRef("late"), 1, 0],
])("%j expects %i results and has %i", (one, expected, available) => {
  expect(tally(state, one.$ref)).toEqual({ expected, available });
});

test("what all was skipped by a condition is, and nothing else", () => {
  const skipped = (...all: readonly Reference[]) => areSkippedByCondition(state, all);
  expect([skipped(), skipped(ref("unwanted")), skipped(ref("unwanted"), ref("none")), skipped(ref("nothing"))]).toEqual(
    [...[false, true, false, false]],
  );
});

test("what a pipeline returns has dotted names, and numbers where it is listed", () => {
  const returns = { film: ref("a"), shots: [ref("b"), { cut: ref("c") }], deep: { one: ref("d") } };
  expect(returnedReferences(returns as never).map(({ name, ref: { step } }) => `${name} ${step}`)).toEqual([
    ...["film a", "shots-1 b", "shots-2.cut c", "deep.one d"],
  ]);
});
