import { describe, expect, test } from "vitest";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { offered, positionOf } from "../../../src/core/run/kinds/approve.ts";
import { runKind } from "../../../src/core/run/kinds/index.ts";
import { candidatesOf } from "../../../src/core/run/kinds/pick.ts";
import { copy, failedTry, output } from "./support/attempts.ts";
import { decidedOf, NOW, runningState, type Steps } from "./support/decided.ts";
import { job, policy, ref } from "./support/plans.ts";
import { gate, generate, pick, task, upload, uploadRef, valueRef } from "./support/steps.ts";

const made = (...outputs: readonly object[]) => ({ status: "succeeded", outputs });
const skipped = { status: "skipped", reason: "not wanted", skippedByCondition: true };
const failed = { status: "failed", reason: "no" };
const file = { sha256: "f", sizeBytes: 1, contentType: "image/jpeg" };

const a = [job("a", {}, { keep: false }), made(output(0), output(1))] as const;
const f = [upload("f"), { status: "succeeded", upload: file }] as const;
const v = [task("v"), { status: "succeeded", value: { hero: "x" } }] as const;
const finished = (step: string, status: string, reason: string | null = null) => ({
  ...{ type: "step.finished", step, status, reason },
});

/** What is decided in a run of these steps, of the last one. */
function decided(steps: Steps, more: object = {}) {
  const { events, commands } = decidedOf(runningState(steps, { losses: 1, ...more }));
  const { path } = steps.at(-1)![0];
  return { events: events.filter((event) => "step" in event && event.step === path), commands };
}

describe("an approval", () => {
  const shows = [ref("a", "all")];
  const look = (own: object = {}, choose = false, before: Steps = [a], list = shows) =>
    decided([...before, [gate("look", list, choose), own]]).events;

  test("is shown once all of it exists", () => {
    expect(look()).toEqual([{ type: "step.started", step: "look" }]);
    expect(look({}, true)).toEqual([{ type: "step.started", step: "look" }]);
    expect(look({}, false, [[a[0], { status: "running" }]])).toEqual([]);
  });

  test("is not shown while the run is paused, or where only some of what is approved together exists", () => {
    expect(decided([a, [gate("look", shows)]], { status: "paused" }).events).toEqual([]);
    const partial = [a[0], { ...made(output(0), output(1, { status: "FAILED" })), status: "partial" }] as const;
    const why = "needs all outputs of a, but 1 of 2 failed";
    expect(look({}, false, [partial])).toEqual([finished("look", "skipped", why)]);
    expect(look({}, true, [partial])).toEqual([{ type: "step.started", step: "look" }]);
  });

  test("of nothing that exists is skipped, by a condition where one took all of it away", () => {
    expect(look({}, false, [[a[0], failed]])).toEqual([finished("look", "skipped", "needs a, which failed")]);
    const b = [job("b"), skipped] as const;
    const of = [ref("a"), ref("b")];
    const why = "needs output 0 of a, which was skipped by a condition";
    expect(look({}, true, [[a[0], skipped], b], of)).toEqual([
      { ...finished("look", "skipped", why), skippedByCondition: true },
    ]);
    expect(look({}, true, [[a[0], failed], b], of)).toEqual([
      finished("look", "skipped", "needs output 0 of a, which does not exist"),
    ]);
  });

  test("waits for its decision, and fails where nothing is left to choose from", () => {
    const open = { status: "running" };
    expect(look(open)).toEqual([]);
    expect(look(open, true)).toEqual([]);
    const gone = [a[0], made(output(0, { phase: "expired" }))] as const;
    const why =
      "needs the outputs of a, which expired on the service and has no local copy; rerun the step with: showrunner resume r --rerun a";
    expect(look(open, true, [gone])).toEqual([finished("look", "failed", why)]);
    expect(look(open, false, [gone])).toEqual([]);
  });

  test.each([
    [{ approved: true, note: "fine" }, "succeeded", null],
    [{ approved: false, note: null }, "failed", "rejected"],
    [{ approved: false, note: "too dark" }, "failed", "rejected: too dark"],
  ])("is over once decided: %j", (approval, status, reason) => {
    expect(look({ status: "running", approval })).toEqual([finished("look", status, reason)]);
    expect(look({ status, approval })).toEqual([]);
  });
});

describe("what a decision offers", () => {
  test("are files, values and each output that can be used, in the order in which they are shown", () => {
    const expired = output(1, { phase: "expired" });
    const state = runningState([[a[0], made(output(0), expired, output(2))], f, v, [task("w"), { status: "running" }]]);
    const shows = [valueRef("w"), uploadRef("f"), valueRef("v"), ref("a", "all"), valueRef("v", ["no"])];
    expect(offered(state, { path: "x", shows, choose: true, message: null })).toEqual([
      { step: "f", index: 0 },
      { step: "v", index: 2 },
      { step: "a", index: 0 },
      { step: "a", index: 2 },
    ]);
  });

  const offer = [
    { step: "a", index: 0 },
    { step: "a", index: 1 },
    { step: "b", index: 0 },
  ];
  const advice = "pick a number from 0 to 2, or the name of the step that produced the result: a, b.";

  test.each([
    [0, 0],
    [2, 2],
    ["b", 2],
    ["a", "a produced several results; pick a number from 0 to 1."],
    ["c", `look does not offer a result from step "c"; ${advice}`],
    [3, `there is no result 3; ${advice}`],
    [-1, `there is no result -1; ${advice}`],
    [0.5, `there is no result 0.5; ${advice}`],
    [undefined, `look asks for a choice; ${advice}`],
  ])("is named by position or by step: %s", (named, position) => {
    expect(positionOf(offer, "look", named)).toBe(position);
  });
});

describe("a pick", () => {
  const among = [ref("b"), ref("a", 1), ref("a", 0)];
  const b = [job("b", {}, { keep: false }), failed] as const;
  const chosen = { step: "a", index: 1 };
  const first = { type: "pick.decided", step: "best", chosen, scores: null };
  const best = (own: object = {}, by: "first" | "score" = "first", before: Steps = [a, b], list = among) =>
    decided([...before, [pick("best", list, by), own]]);
  const started = { type: "step.started", step: "best" };

  test("takes the first that there is", () => {
    expect(best()).toEqual({ events: [started, first], commands: [] });
    expect(best({ status: "running" }).events).toEqual([first]);
    expect(best({ status: "running", chosen }).events).toEqual([finished("best", "succeeded")]);
    expect(best({ status: "succeeded", chosen }).events).toEqual([]);
  });

  test("lets a function score them once their files are here", () => {
    expect(best({}, "score")).toEqual({ events: [started], commands: [{ type: "pick", step: "best", input: null }] });
    const coming = [a[0], made(output(0), output(1, { copy: null, phase: "available" }))] as const;
    expect(best({}, "score", [coming, b])).toEqual({ events: [], commands: [] });
    expect(best({}, "first", [coming, b]).events).toEqual([started, first]);
    const voice = [a[0], made(output(0), output(1, { copy: null, voiceId: "vo" }))] as const;
    expect(best({}, "score", [voice, b]).commands).toHaveLength(1);
    const error = { code: ownText("TASK_FAILED"), message: ownText("no face"), retryable: false };
    const attempts = [failedTry(1, error), failedTry(2, { ...error, message: ownText("no light") })];
    expect(best({ status: "running", attempts }, "score").events).toEqual([finished("best", "failed", "no light")]);
  });

  test("waits while one is made, and while the run is paused", () => {
    expect(best({}, "first", [[a[0], { status: "running" }], b]).events).toEqual([]);
    expect(decided([a, b, [pick("best", among)]], { status: "paused" }).events).toEqual([]);
  });

  test("of nothing is skipped, by a condition where one took all of it away", () => {
    const none = "none of its candidates has a result";
    expect(best({}, "first", [[a[0], failed], b]).events).toEqual([finished("best", "skipped", none)]);
    expect(
      best({}, "first", [
        [a[0], skipped],
        [b[0], skipped],
      ]).events,
    ).toEqual([{ ...finished("best", "skipped", none), skippedByCondition: true }]);
    expect(best({ status: "running" }, "first", [[a[0], failed], b]).events).toEqual([
      finished("best", "failed", none),
    ]);
  });

  test("is known before it is due where nothing has to be scored", () => {
    const state = runningState([a, b, f]);
    const foreseen = (by: "first" | "score", list = among) => runKind("pick").freeResult(pick("best", list, by), state);
    expect(foreseen("first")).toEqual([first]);
    expect(foreseen("score")).toBeNull();
    expect(foreseen("first", [ref("b")])).toBeNull();
  });
});

test("candidates of a pick are files, values and outputs; a list adds as many as it has, all else null where it is missing", () => {
  const state = runningState([
    [a[0], made(output(0), output(1, { copy: null }), output(2, { copy: null, voiceId: "vo" }))],
    [job("b"), failed],
    f,
    v,
  ]);
  const among = [
    ref("a", "all"),
    ref("b"),
    ref("b", "all"),
    uploadRef("f"),
    ref("f"),
    valueRef("v", ["hero"]),
    valueRef("v", ["no"]),
  ];
  const from = (step: string, index: number, own: object | null, isComing = false) => ({
    ...{ chosen: { step, index }, file: own, isComing },
  });
  expect(candidatesOf(state, pick("best", among))).toEqual([
    ...[from("a", 0, copy), from("a", 1, null, true), from("a", 2, null), null],
    ...[from("f", 0, file), from("f", 0, file), from("v", 5, null), null],
  ]);
});

describe("an upload", () => {
  const own = (step: object = {}, more: object = {}) => decided([[upload("f"), step]], more);
  const stored = { sha256: "0".repeat(64), sizeBytes: 1, contentType: "image/png" };

  test("is begun, and is over once its bytes are stored", () => {
    expect(own()).toEqual({
      events: [{ type: "step.started", step: "f" }],
      commands: [{ type: "upload", step: "f", input: null }],
    });
    expect(own({ status: "running", upload: file }).events).toEqual([finished("f", "succeeded")]);
    expect(own({}, { status: "paused" })).toEqual({ events: [], commands: [] });
    expect(runKind("upload").freeResult(upload("f"), runningState([]))).toEqual([
      { type: "upload.stored", step: "f", ...stored },
    ]);
  });

  test("that is not wanted is skipped", () => {
    const wanted = { ...upload("f"), needs: ["v"], when: { ref: valueRef("v", ["no"]).$ref, is: "truthy" } } as const;
    expect(decided([v, [wanted]]).events).toEqual([
      { ...finished("f", "skipped", "not needed: v.no is empty"), skippedByCondition: true },
    ]);
    expect(decided([[v[0], { status: "running" }], [wanted]]).events).toEqual([]);
  });
});

test("a request that is sent again under its key is not given up before its answer", () => {
  const within = { ...generate("c/1/g", "keyed"), policy: { ...policy, maxCostMicros: 50, withinMs: 1_000 } };
  const choice = {
    ...pick("c/pick", [ref("c/1/g"), ref("c/2/b")]),
    second: { options: ["c/1", "c/2"], afterModeration: false, awayMs: null, out: [] },
  };
  const sent = {
    ...{ n: 1, phase: "submitting.sent", money: "held", holdMicros: 50, key: "sr1_1", model: "m", input: {} },
    ...{ provider: "mock", intendedAt: NOW - 2_000, lastSentAt: NOW - 2_000, overdueAt: NOW - 1_000 },
  };
  const state = runningState([
    [within, { status: "running", attempts: [sent] }],
    [job("c/2/b"), made(output(0))],
    [choice, { status: "succeeded", chosen: { step: "c/2/b", index: 0 } }],
  ]);
  expect(decidedOf(state)).toMatchObject({ events: [], commands: [{ type: "generate", mayExist: true }] });
});
