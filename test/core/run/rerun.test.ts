import { describe, expect, test } from "vitest";
import { newStep, type RunState } from "../../../src/core/journal/state.ts";
import type { Plan } from "../../../src/core/plan/plan.ts";
import {
  blockingFailure,
  cancelledSteps,
  hasNoOpenJobs,
  resetEvents,
  restorableAttempt,
  resumeEvents,
  revisionEvents,
  staleSteps,
} from "../../../src/core/run/rerun.ts";
import { runningState, type Steps, stepsOf } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { expansion, task, valueRef } from "./support/steps.ts";

const made = { status: "succeeded" };
const failed = { status: "failed" };
const pruned = { status: "skipped", pruned: true };
const roots = (...paths: readonly string[]) => new Map(paths.map((path) => [path, "asked for"]));
const use = (path: string, ...others: readonly string[]) =>
  job(path, Object.fromEntries(others.map((one) => [one, ref(one)])));

function stale(steps: Steps, ...paths: readonly string[]) {
  const state = runningState(steps, { losses: 1 });
  return staleSteps(state, state.planned.plan, roots(...paths));
}

describe("steps that are made again", () => {
  test("are the named ones and all that use them, in plan order", () => {
    const steps = stepsOf([job("a"), made], [use("b", "a"), made], [job("c"), made], [use("d", "b", "c"), made]);
    expect(stale(steps, "a")).toEqual(["a", "b", "d"]);
    expect(stale(steps, "d", "c")).toEqual(["c", "d"]);
    expect(stale(steps)).toEqual([]);
  });

  test("are those that were left out too, once they are wanted again; not what another failure still keeps out", () => {
    const steps = (other: object): Steps => [
      ...stepsOf([job("face"), failed], [job("look"), other], [job("set"), pruned], [use("still", "set"), pruned]),
      [use("film", "face", "look", "still"), { status: "skipped" }],
    ];
    expect(stale(steps(made), "face")).toEqual(["face", "set", "still", "film"]);
    expect(stale(steps(failed), "face")).toEqual(["face", "film"]);
  });

  test("are the inner steps of what was planned once and is to be planned again", () => {
    const steps = stepsOf([task("v"), made], [expansion("grow", valueRef("v")), made]);
    const state = runningState(steps);
    state.removedSteps.push(job("grow/1", {}, { after: ["v"] }), job("other/1", {}, { after: ["v"] }));
    for (const { path } of state.removedSteps) state.steps[path] = { ...newStep(path), status: "succeeded" };
    expect(staleSteps(state, state.planned.plan, roots("v"))).toEqual(["v", "grow", "grow/1"]);
  });
});

describe("what resets them", () => {
  const resets = (steps: Steps, which: readonly string[], ...named: readonly string[]) => {
    const state = runningState(steps);
    return resetEvents(state, state.planned.plan, which, roots(...named));
  };
  const reset = (step: string, why: string, more: object = {}) => ({ type: "step.reset", step, why, ...more });

  test("says why: because it was asked for, is needed again, or uses what runs again", () => {
    const steps: Steps = [[job("a"), made], [job("p"), pruned], [use("b", "p", "a"), made], [use("new", "b")]];
    expect(resets(steps, ["a", "p", "b", "new"], "a")).toEqual([
      reset("a", "asked for"),
      reset("p", "needed again", { onlyIfInputsChanged: true }),
      reset("b", "a runs again", { onlyIfInputsChanged: true }),
    ]);
  });

  test("is not needed for what was never begun, nor for what there is not", () => {
    const priced = { attempts: [{}], superseded: 0 };
    const former = { attempts: [{}], superseded: 1 };
    expect(resets([[job("a"), {}]], ["a", "nothing"], "a", "nothing")).toEqual([]);
    expect(resets([[job("a"), former]], ["a"], "a")).toEqual([]);
    expect(resets([[job("a"), priced]], ["a"], "a")).toHaveLength(1);
    expect(resets([[job("a"), { attempts: [{ kind: "chat" }] }]], ["a"], "a")).toHaveLength(1);
  });

  test("keeps an expansion that stands, and comes from the inside out", () => {
    const on = (path: string) => ({ ...expansion(path, valueRef("v")), path });
    const grown = { ...made, expanded: [] };
    const steps: Steps = [
      [task("v"), made],
      [on("grow"), grown],
      [on("grow/deep"), grown],
      [job("grow/deep/1"), made],
    ];
    expect(resets(steps, ["grow", "grow/deep", "grow/deep/1"], "grow/deep/1")).toEqual([
      reset("grow/deep/1", "asked for"),
      reset("grow/deep", "grow/deep/1 runs again", { keepsExpansion: true }),
      reset("grow", "grow/deep runs again", { keepsExpansion: true }),
    ]);
    expect(resets(steps, ["v", "grow"], "v").at(-1)).toEqual(
      reset("grow", "v runs again", { onlyIfInputsChanged: true }),
    );
    const unplanned = stepsOf([on("grow"), failed], [job("grow/1"), made]);
    expect(resets(unplanned, ["grow", "grow/1"], "grow/1").at(-1)).toEqual(
      reset("grow", "grow/1 runs again", { onlyIfInputsChanged: true }),
    );
  });
});

test.each<[object, boolean, boolean]>([
  [{}, true, true],
  [{ attempts: [{ phase: "completed", money: "settled" }] }, true, true],
  [{ attempts: [{ phase: "completed", money: "held" }] }, true, false],
  [
    {
      attempts: [
        { phase: "inQueue", money: "held" },
        { phase: "failed", money: "settled" },
      ],
    },
    false,
    false,
  ],
  [{ attempts: [{ phase: "unresolved", money: "held" }] }, false, false],
  [{ status: "unresolved" }, false, false],
  [{ attempts: [{ kind: "chat", phase: "submitting.sent", money: "held" }] }, false, false],
  [
    {
      attempts: [
        { kind: "chat", phase: "abandoned", money: "unconfirmed" },
        { kind: "chat", phase: "completed", money: "settled" },
      ],
    },
    true,
    true,
  ],
])("of a step %j nothing is on the service: %s, and all is paid: %s", (own, isFree, isPaid) => {
  const step = { ...newStep("a"), ...own } as ReturnType<typeof newStep>;
  expect([hasNoOpenJobs(step), hasNoOpenJobs(step, { paid: true })]).toEqual([isFree, isPaid]);
});

test.each([
  ["running", [], []],
  ["paused", [], ["run.resumed"]],
  ["failed", ["run.reopened"], []],
  ["succeeded", ["run.reopened"], []],
])("a %s run is set going", (status, before, after) => {
  const { before: first, after: last } = resumeEvents({ status } as RunState);
  expect([first, last].map((events) => events.map(({ type }) => type))).toEqual([before, after]);
});

test("a failure stops a run at once again where it is not made again itself, by its own policy or that of the pipeline", () => {
  const blocking = (own: object, onFailure: NonNullable<Plan["onFailure"]>, ...again: readonly string[]) => {
    const state = runningState(
      stepsOf([job("b", {}, own), failed], [job("ok", {}, { onFailure: "failFast" }), made]),
      {},
      { onFailure },
    );
    return blockingFailure(state, state.planned.plan, again)?.path ?? null;
  };
  expect([blocking({}, "failFast"), blocking({}, "failFast", "b"), blocking({}, "continue")]).toEqual([
    "b",
    null,
    null,
  ]);
  expect([blocking({ onFailure: "failFast" }, "continue"), blocking({ onFailure: "continue" }, "failFast")]).toEqual([
    "b",
    null,
  ]);
});

test("cancelled steps are those that only a failure elsewhere kept from being made", () => {
  const state = runningState([[job("a"), failed], [job("b"), { status: "cancelled" }], [job("c")]]);
  expect(cancelledSteps(state, state.planned.plan)).toEqual(["b"]);
});

test("a former result counts again where nothing was sent since, and it was whole", () => {
  const former = (own: object, ...attempts: readonly object[]) =>
    restorableAttempt({
      ...newStep("a"),
      onlyIfInputsChanged: true,
      superseded: 1,
      attempts: attempts as never,
      ...own,
    });
  const done = { n: 1, phase: "completed", intendedAt: 1 };
  expect(former({}, done)).toBe(done);
  expect(former({}, done, { n: 2, phase: "priced", intendedAt: null })).toBe(done);
  expect(former({}, done, { n: 2, phase: "inQueue", intendedAt: 2 })).toBeNull();
  expect(former({ onlyIfInputsChanged: false }, done)).toBeNull();
  expect(former({}, { ...done, phase: "failed" })).toBeNull();
  expect(former({ superseded: 0 }, done)).toBeNull();
});

test("a revision brings the new plan, then the request, the resets and the prices, and sets the run going", () => {
  const state = runningState([[job("a"), { ...made, attempts: [] }], [job("b")], [task("t")]], { status: "paused" });
  const plan = { ...state.planned.plan, steps: [...state.planned.plan.steps, job("new"), job("free")] };
  const price = (step: string, basis: string, costMicros: number | null = 5) => ({ step, basis, costMicros });
  const events = revisionEvents(state, {
    replanned: { plan, quoteMicros: 3, renamed: [], expanded: {} },
    request: { requestId: "q", steps: ["a"] },
    roots: roots("a"),
    prices: [
      ...[price("a", "quoted"), price("b", "unquotable", null), price("new", "provisional"), price("t", "quoted")],
      ...[price("free", "free"), price("nothing", "quoted")],
    ] as never,
  });
  const quoted = (step: string, basis: string, costMicros: number | null) => ({
    type: "job.quoted",
    step,
    attempt: 1,
    costMicros,
    basis,
  });
  expect(events).toEqual([
    { type: "run.replanned", plan, quoteMicros: 3, renamed: [], expanded: {} },
    { type: "rerun.requested", requestId: "q", steps: ["a"] },
    { type: "step.reset", step: "a", why: "asked for" },
    ...[quoted("a", "quoted", 5), quoted("b", "unquotable", null), quoted("new", "provisional", 5)],
    { type: "run.resumed" },
  ]);
  // The state is another one only once these are committed.
  expect([state.status, state.planned.plan.steps.length, state.reruns]).toEqual(["paused", 3, []]);
  const reused = revisionEvents(state, {
    replanned: null,
    request: null,
    roots: roots(),
    prices: [price("b", "reused")] as never,
  });
  expect(reused).toEqual([{ type: "run.resumed" }]);
});
