import { describe, expect, test } from "vitest";
import { IllegalEventError } from "../../../src/core/journal/errors.ts";
import { newStep, outputsOf, planStep } from "../../../src/core/journal/state.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { job, planOf, ref } from "../run/support/plans.ts";
import { gate, task } from "../run/support/steps.ts";
import {
  at,
  begun,
  completed,
  copy,
  ended,
  error,
  Folded,
  intended,
  output,
  quoted,
  sent,
  settled,
  started,
  steps,
  submitted,
} from "./support/folded.ts";

/** The events of a job, from its price to the end of its step. */
const succeeded = (step: string, costMicros = 10) => [
  ...[...sent(step), submitted(step), completed(step, output(0))],
  ...[settled(step, costMicros), ended(step, "succeeded")],
];

describe("a step that is made again", () => {
  const made = () => new Folded().take(started, ...succeeded("a", 60));
  const reset = { type: "step.reset", step: "a", why: "asked", onlyIfInputsChanged: true };
  const file = { type: "file.placed", name: "poster", step: "a", index: 0, file: "p.png" };

  test("begins anew, and its attempts stay listed with what they cost", () => {
    const run = made().take(file, reset, quoted("a", 70, 2), { ...reset, onlyIfInputsChanged: undefined });
    expect(run.state.steps.a).toEqual({
      ...{ ...newStep("a"), attempts: [expect.objectContaining({ n: 1, phase: "completed", costMicros: 60 })] },
      ...{ superseded: 1, rerunRequested: true },
    });
    expect(run.state).toMatchObject({ files: [], spentMicros: 60 });
  });

  test("owes its rerun until it was begun", () => {
    const asked = { ...reset, onlyIfInputsChanged: false };
    expect(made().take(asked, reset).state.steps.a).toMatchObject({ rerunRequested: true, onlyIfInputsChanged: false });
    expect(made().take(reset).state.steps.a).toMatchObject({ rerunRequested: false, onlyIfInputsChanged: true });
    const begunAgain = made().take(asked, quoted("a", 70, 2), begun("a"), intended("a", 70, 2), submitted("a", 2));
    begunAgain.take({ type: "job.failed", ...at("a", 2), error }, settled("a", 0, 2), ended("a", "failed"), reset);
    expect(begunAgain.state.steps.a).toMatchObject({ rerunRequested: false, onlyIfInputsChanged: true, superseded: 2 });
  });

  test("gets its former result back where nothing that it uses has changed", () => {
    const restored = { type: "step.restored", ...at("a") };
    const run = made().take(reset, quoted("a", 70, 2), restored);
    expect(run.state.steps.a).toMatchObject({ superseded: 0, attempts: [{ n: 1 }] });
    expect(run.state.steps.a!.attempts).toHaveLength(1);
    expect(() => made().take(reset, quoted("a", 70, 2), begun("a"), intended("a", 70, 2), restored)).toThrow(
      IllegalEventError,
    );
    expect(() => made().take(restored)).toThrow(IllegalEventError);
  });

  test("is taken over from an earlier run, as far as its outputs are still there", () => {
    const from = { runId: "r0", step: "x", jobId: "j0", completedAt: 5 };
    const outputs = [
      { ...output(0), voiceId: "v", copy: null },
      { ...output(1), assetId: null, copy },
      { ...output(2), copy: null },
      { ...output(3), copy },
    ];
    const run = new Folded().take(started, { type: "step.reused", step: "a", outputs, value: { v: 1 }, from });
    expect(run.state.steps.a).toMatchObject({ reusedFrom: from, value: { v: 1 } });
    const phases = outputsOf(run.state.steps.a!).map(({ phase }) => phase);
    expect(phases).toEqual(["available", "archived", "available", "downloaded"]);
  });
});

describe("a plan that grows or changes", () => {
  const inner = [job("grow/1"), job("grow/2", { image: ref("grow/1") })];
  const returns = [ref("grow/2")];
  const grown = (own: readonly PlanStep[] = inner) => ({
    ...{ type: "expand.planned", step: "grow", steps: own, returns, groups: { grow: { maxCostMicros: 9 } } },
  });
  const replanned = (own: readonly PlanStep[], more: object = {}) => ({
    ...{ type: "run.replanned", plan: planOf(own), quoteMicros: 7, renamed: [], expanded: {}, ...more },
  });

  test("has the steps of an expansion, with its groups, and what it stands for", () => {
    const { state } = new Folded().take(started, begun("grow"), grown());
    expect(state.planned.plan.steps.map(({ path }) => path)).toEqual([
      "a",
      "b",
      "talk",
      "cut",
      "grow",
      "grow/1",
      "grow/2",
    ]);
    expect(state.planned.plan.groups).toEqual({ grow: { maxCostMicros: 9 } });
    expect(state.steps.grow!.expanded).toEqual(returns);
    expect(state.steps["grow/1"]).toEqual(newStep("grow/1"));
    expect(planStep(state, "grow/2")).toBe(inner[1]);
    expect(() => planStep(state, "nothing")).toThrow('No step "nothing" in the plan of run r.');
  });

  test("takes over what an expansion made before, unless it asks for something else or uses what does", () => {
    const earlier = () =>
      new Folded().take(started, begun("grow"), grown(), ...succeeded("grow/1"), ...succeeded("grow/2"), {
        type: "step.reset",
        step: "grow",
        why: "asked",
      });
    const { state } = earlier();
    expect(state.removedSteps).toEqual(inner);
    expect(state.steps.grow!.expanded).toBeNull();
    expect(state.planned.plan.steps.map(({ path }) => path)).not.toContain("grow/1");
    const status = (own: readonly PlanStep[]) => {
      const after = earlier().take(begun("grow"), grown(own)).state;
      return [after.steps["grow/1"]!.status, after.steps["grow/2"]!.status, after.removedSteps.length];
    };
    expect(status(inner)).toEqual(["succeeded", "succeeded", 0]);
    expect(status([job("grow/1", { fps: 2 }), inner[1]!])).toEqual(["waiting", "waiting", 0]);
    expect(status([inner[0]!, job("grow/2", { fps: 2 })])).toEqual(["succeeded", "waiting", 0]);
    expect(status([inner[0]!])).toEqual(["succeeded", "succeeded", 1]);
  });

  test("keeps the steps of an expansion that stands", () => {
    const { state } = new Folded().take(started, begun("grow"), grown(), {
      type: "step.reset",
      step: "grow",
      why: "w",
      keepsExpansion: true,
    });
    expect(state.planned.plan.steps).toHaveLength(7);
    expect(state.steps.grow).toMatchObject({ status: "waiting", expanded: returns });
  });

  test("by changed code has the results of the old one; what is gone ends and stays listed", () => {
    const run = new Folded().take(started, ...sent("a"), submitted("a"), begun("cut"));
    const after = [job("b"), task("cut"), job("new")];
    run.take(replanned(after, { input: { other: 1 }, source: { file: "x.ts", exportName: "default" } }));
    const { state } = run;
    expect(state).toMatchObject({ planned: { quoteMicros: null }, rerunQuoteMicros: 7 });
    expect(state.planned).toMatchObject({
      plan: { steps: after },
      input: { other: 1 },
      source: { file: "x.ts" },
    });
    expect(state.removedSteps.map(({ path }) => path)).toEqual(["a", "talk", "grow"]);
    expect(["a", "talk", "grow", "cut", "new"].map((path) => state.steps[path]!.status)).toEqual([
      ...["cancelled", "cancelled", "cancelled", "running", "waiting"],
    ]);
    expect(state.losses).toBe(3);
    run.take(replanned([...after, job("a")]));
    expect(state.rerunQuoteMicros).toBe(14);
    expect(state.removedSteps.map(({ path }) => path)).toEqual(["talk", "grow"]);
    expect(state.planned).toMatchObject({ input: { other: 1 } });
  });

  test("under other names keeps its results, files, requests and choices", () => {
    const file = { type: "file.placed", name: "poster", step: "a", index: 0, file: "p.png" };
    const chosen = { type: "pick.decided", step: "ok", chosen: { step: "a", index: 0 }, scores: null };
    const own = [...steps, gate("ok", [ref("a")], true)];
    const run = new Folded(own).take(started, begun("grow"), begun("ok"), grown(), ...succeeded("a"), file, chosen);
    run.take({ type: "rerun.requested", requestId: "q", steps: ["a", "b"] });
    const renamedSteps = own.map((step) => (step.path === "a" ? { ...step, path: "hero" } : step));
    const expanded = { grow: [ref("hero")] };
    run.take(replanned(renamedSteps, { renamed: [{ from: "a", to: "hero" }], expanded }));
    const { state } = run;
    expect(state.steps.a).toBeUndefined();
    expect(state.steps.hero).toMatchObject({ path: "hero", status: "succeeded" });
    expect(state.files).toMatchObject([{ name: "poster", step: "hero" }]);
    expect(state.reruns[0]!.steps).toEqual(["hero", "b"]);
    expect(state.steps.ok!.chosen).toEqual({ step: "hero", index: 0 });
    expect(state.steps.grow!.expanded).toEqual(expanded.grow);
    expect(state.removedSteps.map(({ path }) => path)).toEqual(["grow/1", "grow/2"]);
    run.take(
      replanned(
        own.map((step) => (step.path === "a" ? { ...step, path: "star" } : step)),
        { renamed: [{ from: "hero", to: "star" }] },
      ),
    );
    expect(state.formerNames).toEqual({ a: "star", hero: "star" });
  });
});
