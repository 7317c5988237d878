import { describe, expect, test } from "vitest";
import { newAttempt, type RunState } from "../../../src/core/journal/state.ts";
import type { InboxMessage } from "../../../src/core/journal/store.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { inboxEvents, inOrder, workOf } from "../../../src/core/run/inbox.ts";
import { jobs, runningState, stepsOf } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { gate, generate, pick, task, uploadRef, valueRef } from "./support/steps.ts";

const made = (count: number) => ({
  status: "succeeded",
  outputs: Array.from({ length: count }, (_, index) => ({ index, status: "COMPLETED", phase: "available" })),
});
const open = { status: "running" };

const told = (state: RunState, message: InboxMessage) => inboxEvents(state, { id: 4, at: 9, message });
const pausedFor = (reason: string) => ({ status: "paused", pause: { reason } });
const resumed = { type: "run.resumed" };
const refused = (step: string, what: string, message: string) => ({ type: "message.refused", step, what, message });

describe("a stop", () => {
  const stop = { type: "run.paused", reason: "stopped", message: "stopped on request", request: { id: 4, at: 9 } };
  const stopped = (more: object) => told(runningState([], more), { type: "stop" });

  test.each([
    ["running", {}, [stop]],
    ["planned", { status: "planned" }, [{ type: "run.started" }, stop]],
    ["waiting for funds", pausedFor("funds"), [stop]],
    ["stopped already", pausedFor("stopped"), []],
    ["waiting for a decision", pausedFor("approval"), []],
    ["waiting for somebody to find a job", pausedFor("unresolved"), []],
    ["over", { status: "succeeded" }, []],
  ])("of a run that is %s", (_what, more, events) => {
    expect(stopped(more)).toEqual(events);
  });
});

describe("an adoption", () => {
  const lost = { status: "unresolved", attempts: [{ n: 1, phase: "unresolved" }] };
  const adopt = (step: string, own: object, more: object = {}) =>
    told(runningState([[job("a"), own]], more), { type: "adopt", step, jobId: "j9" });
  const adopted = { type: "job.adopted", step: "a", attempt: 1, jobId: "j9" };

  test("gives the job to the attempt that nobody knows the outcome of", () => {
    expect(adopt("a", lost)).toEqual([adopted]);
  });

  test("sets the run going that rested for it, and no other", () => {
    expect(adopt("a", lost, pausedFor("unresolved"))).toEqual([adopted, resumed]);
    expect(adopt("a", lost, pausedFor("funds"))).toEqual([adopted]);
  });

  test.each([
    ["a step that there is not", "b", lost, {}, 'run "r" has no step b'],
    ["one that was never sent", "a", {}, {}, "a is waiting, not unresolved"],
    [
      "one whose job is known",
      "a",
      { attempts: [{ n: 1, phase: "inQueue", jobId: "j1" }] },
      {},
      "a is waiting, not unresolved",
    ],
    ["a run that is over", "a", lost, { status: "failed" }, "the run is failed"],
  ])("is refused for %s", (_what, step, own, more, why) => {
    expect(adopt(step, own, more)).toEqual([refused(step, "adoption", why)]);
  });

  test("of the job that the step has already is none; of another step's job it is refused", () => {
    const known = { n: 1, phase: "inQueue", jobId: "j9" };
    expect(adopt("a", { attempts: [known] })).toEqual([]);
    const both = runningState(jobs({ a: lost, b: { attempts: [known] } }));
    const why = "j9 already belongs to another step";
    expect(told(both, { type: "adopt", step: "a", jobId: "j9" })).toEqual([refused("a", "adoption", why)]);
  });

  test("that a later one of its step follows is left out", () => {
    const said = (id: number, step: string) => ({ id, at: 9, message: { type: "adopt", step, jobId: null } }) as const;
    const inbox = [said(1, "a"), said(2, "b"), said(3, "a")];
    expect(inOrder(inbox).map(({ id }) => id)).toEqual([2, 3]);
  });
});

describe("a decision", () => {
  const shows = [ref("a", "all"), uploadRef("f"), valueRef("v")];
  /** Two outputs, a file and a value, by their places. */
  const places = [
    { step: "a", index: 0 },
    { step: "a", index: 1 },
    { step: "f", index: 0 },
    { step: "v", index: 2 },
  ];
  const waiting = (choose: boolean, own: object = open, more: object = {}, list = shows) =>
    runningState(
      [
        [job("a"), made(2)],
        [job("f"), made(0)],
        [task("v"), { ...made(0), value: 1 }],
        [gate("ok", list, choose), own],
      ],
      more,
    );
  const decided = (more: object) => ({
    type: "approval.decided",
    step: "ok",
    approved: true,
    pick: null,
    note: null,
    ...more,
  });
  const chose = (at: number) => ({ type: "pick.decided", step: "ok", chosen: places[at], scores: null });

  test.each([0, 1, 2, 3])("of several takes the one at the position, counted from 0: %i", (at) => {
    const message = { type: "approve", step: "ok", pick: at, note: "good" } as const;
    expect(told(waiting(true), message)).toEqual([decided({ pick: at, note: "good" }), chose(at)]);
  });

  test("takes the output that it names, wherever that stands by now", () => {
    const message = { type: "approve", step: "ok", pick: 0, chosen: { step: "f", index: 0 } } as const;
    expect(told(waiting(true), message)).toEqual([decided({ pick: 2 }), chose(2)]);
    const gone = [refused("ok", "approval", "the result picked for ok is no longer offered")];
    expect(told(waiting(true), { ...message, chosen: { step: "f", index: 1 } })).toEqual(gone);
    expect(told(waiting(true), { ...message, chosen: { step: "gone", index: 0 } })).toEqual(gone);
  });

  test("that has to choose and does not, or names a position that is not there, is refused", () => {
    const gone = [refused("ok", "approval", "the result picked for ok is no longer offered")];
    expect(told(waiting(true), { type: "approve", step: "ok" })).toEqual(gone);
    expect(told(waiting(true), { type: "approve", step: "ok", pick: 4 })).toEqual(gone);
  });

  test("about all that is shown passes all of it on; the only one is the one chosen", () => {
    const message = { type: "approve", step: "ok" } as const;
    expect(told(waiting(false), message)).toEqual([decided({})]);
    expect(told(waiting(false), { ...message, pick: 1 })).toEqual([decided({})]);
    expect(told(waiting(false, open, {}, [ref("a", 1)]), message)).toEqual([decided({}), chose(1)]);
  });

  test("may reject, with why", () => {
    const rejected = { type: "approval.decided", step: "ok", approved: false, pick: null };
    expect(told(waiting(true), { type: "reject", step: "ok", note: "dull" })).toEqual([{ ...rejected, note: "dull" }]);
    expect(told(waiting(true), { type: "reject", step: "ok" })).toEqual([{ ...rejected, note: null }]);
  });

  test("is a comment where it decides nothing: kept, up to a number, and nothing else changes", () => {
    const comment = { text: ownText("too dark"), take: places[1]!, timeMs: 900, at: 9, by: null };
    const message = { type: "comment", step: "ok", comment } as const;
    expect(told(waiting(true), message)).toEqual([{ type: "comment.added", step: "ok", comment }]);
    expect(told(waiting(true, open, pausedFor("approval")), message)).toHaveLength(1);
    const lost = [refused("gone", "comment", 'run "r" has no approval gone')];
    expect(told(waiting(true), { ...message, step: "gone" })).toEqual(lost);
    const full = { ...open, comments: Array.from({ length: 1000 }, () => comment) };
    const refusal = refused("ok", "comment", "ok already has 1000 comments, the maximum");
    expect(told(waiting(true, full), message)).toEqual([refusal]);
  });

  test("names who decided, as far as the message does", () => {
    const by = { name: ownText("Ann"), verified: false, link: "l1" };
    expect(told(waiting(false), { type: "approve", step: "ok", by })).toEqual([decided({ by })]);
    expect(told(waiting(true), { type: "reject", step: "ok", by })).toEqual([decided({ approved: false, by })]);
  });

  test("sets the run going that rested for it, and no other", () => {
    for (const message of [
      { type: "approve", step: "ok", pick: 0 },
      { type: "reject", step: "ok" },
    ] as const) {
      expect(told(waiting(true, open, pausedFor("approval")), message).at(-1)).toEqual(resumed);
      expect(told(waiting(true, open, pausedFor("stopped")), message)).not.toContainEqual(resumed);
    }
  });

  test("replaces an earlier one that nothing was done for; the same once more is none", () => {
    const approved = { ...open, approval: { approved: true, note: null }, chosen: places[0] };
    expect(told(waiting(true, approved), { type: "approve", step: "ok", pick: 1 })).toEqual([
      decided({ pick: 1 }),
      chose(1),
    ]);
    expect(told(waiting(true, approved), { type: "reject", step: "ok" })).toEqual([decided({ approved: false })]);
    expect(told(waiting(true, approved), { type: "approve", step: "ok", pick: 0 })).toEqual([]);
  });

  test.each([
    ["is not shown yet", "ok", {}, {}, "ok is waiting"],
    ["there is not", "toString", open, {}, 'run "r" has no step toString'],
    ["is not a decision", "a", open, {}, "a is not an approval"],
    ["belongs to a run that is over", "ok", open, { status: "cancelled" }, "the run is cancelled"],
  ])("about a step that %s is refused", (_what, step, own, more, why) => {
    const state = waiting(true, own, more);
    expect(told(state, { type: "approve", step, pick: 0 })).toEqual([refused(step, "approval", why)]);
    expect(told(state, { type: "reject", step })).toEqual([refused(step, "rejection", why)]);
  });
});

describe("work that another process performed", () => {
  const cut = task("cut", { image: ref("a") });
  const events = [{ type: "task.completed", step: "cut", value: 1, files: [] }] as const;
  const message = { type: "performed", command: "task:cut", events } as const;
  const state = (own: object = open, more: object = {}) => runningState(stepsOf([job("a"), made(1)], [cut, own]), more);
  const performed = (at: RunState, of: string) => told(at, { ...message, step: "cut", of });

  test("counts while it is the work that the step is at", () => {
    const of = workOf(state(), "cut")!;
    expect(of).toMatch(/^0\.[0-9a-f]{16}$/);
    expect(performed(state(), of)).toEqual(events);
    expect(performed(state(), "0.0000000000000000")).toEqual([]);
    expect(told(state(), { ...message, step: "toString", of })).toEqual([]);
  });

  test.each([
    ["has not begun", {}, {}],
    ["has a value", { ...open, value: 0 }, {}],
    ["has chosen", { ...open, chosen: { step: "a", index: 0 } }, {}],
    ["belongs to a run that is over", open, { status: "failed" }],
  ])("is none of a step that %s", (_what, own, more) => {
    expect(workOf(state(own, more), "cut")).toBeNull();
    expect(performed(state(own, more), workOf(state(), "cut")!)).toEqual([]);
  });

  test("is another with each failed try, another version, or another input, of functions that score too", () => {
    const of = (step: PlanStep, count: number, failures: number) =>
      workOf(
        runningState([
          [job("a"), made(count)],
          [step, { ...open, attempts: Array(failures).fill(newAttempt(1, "try")) }],
        ]),
        step.path,
      );
    const best = pick("best", [ref("a", "all")], "score");
    const works = [
      ...[of(cut, 1, 0), of(cut, 1, 1), of({ ...cut, version: "2" }, 1, 0), of(cut, 0, 0)],
      ...[of(best, 1, 0), of(best, 2, 0), of(best, 2, 2)],
    ];
    expect(new Set(works).size).toBe(works.length);
    expect(of(cut, 1, 0)).toBe(of(cut, 1, 0));
  });
});

describe("an answer that a provider gave to an earlier holder of the run", () => {
  const submitted = { type: "job.submitted", step: "still", attempt: 1, jobId: "gen_1", provider: "mock" } as never;
  const message = { type: "performed", step: "still", command: "generate:still#1", of: "sr1_1", events: [submitted] };
  const unresolved = { n: 1, key: "sr1_1", phase: "unresolved" };
  const sent = { ...unresolved, phase: "submitting.sent" };
  const answered = (attempts: readonly object[], more: object = {}, plan = generate("still")) =>
    told(runningState([[plan, { status: "running", attempts }]], more), message as never);

  test("counts while nobody knows of another, and sets the run going that rested for it", () => {
    expect(answered([unresolved])).toEqual([submitted]);
    expect(answered([sent])).toEqual([submitted]);
    expect(answered([unresolved], pausedFor("unresolved"))).toEqual([submitted, resumed]);
    expect(answered([unresolved], {}, generate("still", "keyed"))).toEqual([submitted]);
  });

  test.each([
    ["of another request", [{ ...unresolved, key: "sr1_2" }], {}],
    ["of one that another followed", [unresolved, { ...sent, n: 2, key: "sr1_2" }], {}],
    ["of a step that nothing was sent for", [], {}],
    ["of one that can be asked for", [{ ...unresolved, operation: { id: 1 } }], {}],
    ["of one that was answered", [{ ...unresolved, phase: "completed" }], {}],
    ["of one that was declared lost", [{ ...unresolved, phase: "lost" }], {}],
    ["of a run that is over", [unresolved], { status: "failed" }],
  ])("%s is none", (_what, attempts, more) => {
    expect(answered(attempts, more)).toEqual([]);
  });

  test("that comes again under its key is waited for", () => {
    expect(answered([sent], {}, generate("still", "keyed"))).toEqual([]);
  });
});

test("a hint from the service is only a reason to look", () => {
  expect(told(runningState([]), { type: "hint", jobId: "j" } as never)).toEqual([]);
});
