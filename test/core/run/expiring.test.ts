import { describe, expect, test } from "vitest";
import { expiring } from "../../../src/core/run/retention.ts";
import { copy, uncopied } from "./support/attempts.ts";
import { runningState, type Steps } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { gate, task, valueRef } from "./support/steps.ts";

const made = (expiresAt: number, ...outputs: readonly object[]) => ({
  status: "succeeded",
  attempts: [{ n: 1, phase: "completed", outputs: outputs.map((one) => ({ expiresAt, ...one })) }],
});
const kept = (path: string) => job(path, {}, { outputs: 3 });
const left = (path: string) => job(path, {}, { outputs: 3, keep: false });

const found = (steps: Steps, more: object = {}) => expiring(runningState(steps, more));
const names = (steps: Steps) =>
  found(steps).map(({ step, index, neededBy, copied }) => [`${step} ${index}`, neededBy, copied]);

describe("outputs that a run still needs on the service", () => {
  test("are those without a copy that are to have one, and those that open steps use, the most urgent first", () => {
    const used = job("film", { image: ref("left"), all: ref("copied", "all") });
    const steps = [
      [kept("late"), made(200, uncopied(0))],
      [
        kept("kept"),
        made(50, uncopied(0), uncopied(1, { phase: "downloaded", copy }), uncopied(2, { phase: "failed" })),
      ],
      [left("left"), made(100, uncopied(0), uncopied(1))],
      [left("copied"), made(70, uncopied(0, { phase: "downloaded", copy }), uncopied(1, { assetId: null }))],
      [kept("by-url"), made(300, uncopied(0, { assetId: null, uncopied: "it answered 404" }))],
      [used],
      [job("too", { image: ref("left") })],
    ] as const;
    const first = { index: 0, assetId: "x0", neededBy: [], copied: false, uncopied: null };
    expect(found(steps)).toEqual([
      { ...first, step: "kept", expiresAt: 50 },
      { ...first, step: "copied", expiresAt: 70, neededBy: ["film"], copied: true },
      { ...first, step: "left", expiresAt: 100, neededBy: ["film", "too"] },
      { ...first, step: "late", expiresAt: 200 },
      { ...first, step: "by-url", expiresAt: 300, assetId: null, uncopied: "it answered 404" },
    ]);
    expect(found(steps, { status: "failed" })).toEqual([]);
  });

  test("are not those of steps that have ended, of values, or that are not on the service any more", () => {
    const steps = [
      [left("left"), made(1, uncopied(0, { phase: "expired" }), uncopied(1, { phase: "archived" }), uncopied(2))],
      [job("film", { image: ref("left", 2) }), { status: "failed" }],
      [task("reads", { all: valueRef("left"), one: ref("left", 0) })],
    ] as const;
    expect(names(steps)).toEqual([]);
    expect(names([steps[0], [job("film", { image: ref("left", 2) })]])).toEqual([["left 2", ["film"], false]]);
  });

  test("are all that an open choice may take, and then only what was chosen", () => {
    const steps = (own: object) =>
      [
        [left("a"), made(1, uncopied(0), uncopied(1))],
        [left("b"), made(2, uncopied(0))],
        [gate("ok", [ref("a", "all"), ref("b")], true), own],
        [job("film", { image: ref("ok") })],
      ] as const;
    const open = [
      ["a 0", ["ok", "film"], false],
      ["a 1", ["ok", "film"], false],
      ["b 0", ["ok", "film"], false],
    ];
    expect(names(steps({ status: "running" }))).toEqual(open);
    expect(names(steps({ status: "succeeded", chosen: { step: "a", index: 1 } }))).toEqual([["a 1", ["film"], false]]);
  });

  test("are those of an earlier run too, and those whose time is over and that may still be downloaded", () => {
    const { attempts } = made(5, uncopied(0));
    const reused = { status: "succeeded", outputs: attempts[0]!.outputs, attempts: [] };
    const steps = [
      [left("a"), reused],
      [left("b"), made(3, uncopied(0, { phase: "lapsed" }))],
      [left("c"), made(9, uncopied(0, { expiresAt: undefined }))],
      [job("film", { images: [ref("a"), ref("b"), ref("c")] })],
    ] as const;
    expect(found(steps).map(({ step, expiresAt }) => [step, expiresAt])).toEqual([
      ["b", 3],
      ["a", 5],
    ]);
  });
});
