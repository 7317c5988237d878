import { describe, expect, test } from "vitest";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { expiring } from "../../../src/core/run/retention.ts";
import { runningState } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { gate, task, valueRef } from "./support/steps.ts";

const copy = { sha256: "c", sizeBytes: 1, contentType: "image/png" };
const output = (index: number, more: object = {}) => ({
  ...{ index, assetId: `x${index}`, status: "COMPLETED", phase: "available", voiceId: null, copy: null, ...more },
});
const made = (expiresAt: number, ...outputs: readonly object[]) => ({
  status: "succeeded",
  attempts: [{ n: 1, phase: "completed", outputs: outputs.map((one) => ({ expiresAt, ...one })) }],
});
const kept = (path: string) => job(path, {}, { outputs: 3 });
const left = (path: string) => job(path, {}, { outputs: 3, keep: false });

const found = (steps: readonly (readonly [PlanStep, object?])[], more: object = {}) =>
  expiring(runningState(steps, more));
const names = (steps: readonly (readonly [PlanStep, object?])[]) =>
  found(steps).map(({ step, index, neededBy, copied }) => [`${step} ${index}`, neededBy, copied]);

describe("outputs that a run still needs on the service", () => {
  test("are those without a copy that are to have one, and those that open steps use, the most urgent first", () => {
    const used = job("film", { image: ref("left"), all: ref("copied", "all") });
    const steps = [
      [kept("late"), made(200, output(0))],
      [kept("kept"), made(50, output(0), output(1, { phase: "downloaded", copy }), output(2, { phase: "failed" }))],
      [left("left"), made(100, output(0), output(1))],
      [left("copied"), made(70, output(0, { phase: "downloaded", copy }), output(1, { assetId: null }))],
      [kept("by-url"), made(300, output(0, { assetId: null, uncopied: "it answered 404" }))],
      [used],
      [job("too", { image: ref("left") })],
    ] as const;
    expect(found(steps)).toEqual([
      {
        step: "kept",
        index: 0,
        assetId: "x0",
        expiresAt: 50,
        neededBy: [],
        copied: false,
        uncopied: null,
      },
      {
        step: "copied",
        index: 0,
        assetId: "x0",
        expiresAt: 70,
        neededBy: ["film"],
        copied: true,
        uncopied: null,
      },
      {
        step: "left",
        index: 0,
        assetId: "x0",
        expiresAt: 100,
        neededBy: ["film", "too"],
        copied: false,
        uncopied: null,
      },
      {
        step: "late",
        index: 0,
        assetId: "x0",
        expiresAt: 200,
        neededBy: [],
        copied: false,
        uncopied: null,
      },
      {
        ...{ step: "by-url", index: 0, assetId: null, expiresAt: 300, neededBy: [], copied: false },
        uncopied: "it answered 404",
      },
    ]);
    expect(found(steps, { status: "failed" })).toEqual([]);
  });

  test("are not those of steps that have ended, of values, or that are not on the service any more", () => {
    const steps = [
      [left("left"), made(1, output(0, { phase: "expired" }), output(1, { phase: "archived" }), output(2))],
      [job("film", { image: ref("left", 2) }), { status: "failed" }],
      [task("reads", { all: valueRef("left"), one: ref("left", 0) })],
    ] as const;
    expect(names(steps)).toEqual([]);
    expect(names([steps[0], [job("film", { image: ref("left", 2) })]])).toEqual([["left 2", ["film"], false]]);
  });

  test("are all that an open choice may take, and then only what was chosen", () => {
    const steps = (own: object) =>
      [
        [left("a"), made(1, output(0), output(1))],
        [left("b"), made(2, output(0))],
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
    const { attempts } = made(5, output(0));
    const reused = { status: "succeeded", outputs: attempts[0]!.outputs, attempts: [] };
    const steps = [
      [left("a"), reused],
      [left("b"), made(3, output(0, { phase: "lapsed" }))],
      [left("c"), made(9, output(0, { expiresAt: undefined }))],
      [job("film", { images: [ref("a"), ref("b"), ref("c")] })],
    ] as const;
    expect(found(steps).map(({ step, expiresAt }) => [step, expiresAt])).toEqual([
      ["b", 3],
      ["a", 5],
    ]);
  });
});
