import { describe, expect, test } from "vitest";
import type { RunState } from "../../../src/core/journal/state.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { Plan, PlanStep } from "../../../src/core/plan/plan.ts";
import type { DecideContext } from "../../../src/core/run/decision-builder.ts";
import type { Headroom } from "../../../src/core/run/money.ts";
import { attempt as anAttempt, failedTry, uncopied } from "./support/attempts.ts";
import { decidedOf, NOW, runningState, type Steps, stepsOf } from "./support/decided.ts";
import { job, ref } from "./support/plans.ts";
import { gate, task } from "./support/steps.ts";

const quote = { costMicros: 100, basis: "quoted" };
const priced = { attempts: [{ n: 1, phase: "priced", money: "none", quote, holdMicros: 0, key: null, outputs: [] }] };
const attempt = (phase: string, money: string, holdMicros: number, more: object = {}) =>
  anAttempt(1, {
    ...{ phase, money, holdMicros, quote, key: "k", costMicros: null, completedAt: null, unresolved: null },
    ...{ intendedAt: NOW, lastSentAt: NOW, submittedAt: NOW, ...more },
  });
const inQueue = (holdMicros: number) => ({ status: "running", attempts: [attempt("inQueue", "held", holdMicros)] });
const active = new Set(["follow:b#1"]);

/** What is decided of priced jobs, with `b` on the service where its hold is given. */
function decided(
  names: readonly string[],
  more: Partial<RunState>,
  {
    held = 0,
    plan = {},
    context = {},
  }: { readonly held?: number; readonly plan?: Partial<Plan>; readonly context?: Partial<DecideContext> } = {},
) {
  const others = held > 0 ? ([[job("b"), inQueue(held)]] as const) : [];
  const steps = [...others, ...names.map((name): readonly [PlanStep, object] => [job(name), priced])];
  const state = runningState(steps, { heldMicros: held, ...more }, plan);
  const { events, commands, wakeAt } = decidedOf(state, { ...(held > 0 && { active }), ...context });
  const sent = commands.flatMap((command) => (command.type === "submit" ? [command.step] : []));
  return { sent, paused: events.find(({ type }) => type === "run.paused"), events, wakeAt };
}

describe("a budget", () => {
  test("is used to the last micro-dollar, the most urgent first", () => {
    expect(decided(["a", "c"], { budgetMicros: 200 }).sent).toEqual(["a", "c"]);
    expect(decided(["a", "c"], { budgetMicros: 199 })).toMatchObject({ sent: ["a"] });
    expect(decided(["a"], { budgetMicros: 110, spentMicros: 10 }).sent).toEqual(["a"]);
    expect(decided(["a"], { budgetMicros: 109, unconfirmedMicros: 10 }).sent).toEqual([]);
    expect(decided(["a", "c"], { budgetMicros: null }).sent).toEqual(["a", "c"]);
  });

  test("that is too small pauses the run, and says what would have done", () => {
    expect(decided(["a"], { budgetMicros: 120, spentMicros: 30 }).paused).toEqual({
      ...{ type: "run.paused", reason: "budget", requiredMicros: 130 },
      message: "a needs 0.0001 USD, but 0.00003 USD of the budget of 0.00012 USD is spent or reserved.",
    });
  });

  test("that may do once what is on the service has its bill is waited for", () => {
    expect(decided(["a"], { budgetMicros: 140 }, { held: 50 })).toMatchObject({ sent: [], paused: undefined });
    // Not even without all of that.
    expect(decided(["a"], { budgetMicros: 99 }, { held: 50 })).toMatchObject({
      sent: [],
      paused: { requiredMicros: 150 },
    });
    expect(decided(["a"], { budgetMicros: 100 }, { held: 50 })).toMatchObject({ sent: [], paused: undefined });
    // Nothing less urgent takes the money meanwhile.
    expect(decided(["a", "c"], { budgetMicros: 140 }, { held: 50 }).sent).toEqual([]);
  });
});

describe("the budget of a group", () => {
  const plan = { groups: { g: { maxCostMicros: 150 } } };
  const failed = (path: string, why: string) => ({ type: "step.finished", step: path, status: "failed", reason: why });

  test("fails the step that it has no room for, and no other", () => {
    const { sent, events } = decided(["g/a", "g/c", "d"], {}, { plan });
    expect(sent).toEqual(["g/a"]);
    expect(events.filter(({ type }) => type === "step.finished")).toEqual([]);
    const spent = runningState(
      [
        [job("g/old"), { status: "succeeded", attempts: [attempt("completed", "settled", 0, { costMicros: 60 })] }],
        [job("g/a"), priced],
        [job("d"), priced],
      ],
      { spentMicros: 60 },
      plan,
    );
    const why = "needs 0.0001 USD, but g has spent or reserved 0.00006 of its maxCost of 0.00015 USD";
    expect(decidedOf(spent).events).toContainEqual(failed("g/a", why));
    expect(decidedOf(spent).events).not.toContainEqual(expect.objectContaining({ step: "d", type: "step.finished" }));
  });

  test("is waited for while bills of its own may still be less", () => {
    const state = (maxCostMicros: number) =>
      runningState(
        stepsOf([job("g/b"), inQueue(90)], [job("g/a"), priced]),
        { heldMicros: 90 },
        { groups: { g: { maxCostMicros } } },
      );
    const ends = (maxCostMicros: number) =>
      decidedOf(state(maxCostMicros), { active: new Set(["follow:g/b#1"]) }).events.filter(
        ({ type }) => type === "step.finished",
      ).length;
    expect([ends(99), ends(100), ends(150)]).toEqual([1, 0, 0]);
  });
});

describe("what other runs and the wallet leave", () => {
  const terms = {
    ...{ capMicros: 1_000, what: "cap" as const, title: "cap", resumesAt: "noon", endsAt: NOW + 9 },
    ...{ flag: ["--cap ", ""] as const, limitFlags: [] },
  };
  const cap = (headroomMicros: number): Headroom => {
    return { limit: "cap", headroomMicros, cap: terms, committedMicros: 500 };
  };
  const floor = (headroomMicros: number): Headroom => {
    return { limit: "floor", headroomMicros, floorMicros: 10, balanceMicros: 90, unseenMicros: 0 };
  };
  const leaves = (names: readonly string[], headrooms: readonly Headroom[], held = 0) =>
    decided(names, { budgetMicros: null }, { held, context: { headrooms } });

  test("is used up to the end", () => {
    expect(leaves(["a", "c"], [cap(200)])).toMatchObject({ sent: ["a", "c"], paused: undefined });
    expect(leaves(["a", "c"], [cap(199)])).toMatchObject({ sent: ["a"], paused: undefined });
    expect(leaves(["a"], [cap(100), floor(100)]).sent).toEqual(["a"]);
    expect(leaves(["a"], [cap(100), floor(99)])).toMatchObject({ sent: [], paused: { reason: "funds" } });
  });

  test("pauses the run where waiting would not help, and waits where it may", () => {
    expect(leaves(["a"], [cap(99)])).toMatchObject({ sent: [], paused: { reason: "cap", resumeAt: NOW + 9 } });
    expect(leaves(["a"], [cap(50)], 60)).toMatchObject({ sent: [], paused: undefined });
    expect(leaves(["a"], [cap(39)], 60)).toMatchObject({ sent: [], paused: { reason: "cap" } });
    expect(leaves(["a"], [cap(40)], 60)).toMatchObject({ sent: [], paused: undefined });
    // A wallet has what is missing only when somebody brings it, or charges are under way.
    expect(leaves(["a"], [floor(50)], 60)).toMatchObject({ sent: [], paused: { reason: "funds" } });
    expect(leaves(["a", "c"], [floor(150)])).toMatchObject({ sent: ["a"], paused: undefined });
  });

  test("is asked for again where it is not known", () => {
    const later: Headroom = { limit: "later", headroomMicros: 0, askAgainAt: NOW + 70 };
    expect(leaves(["a"], [later])).toMatchObject({ sent: [], paused: undefined, wakeAt: NOW + 70 });
  });

  test("pauses a run once, whatever else does not fit", () => {
    const { events } = leaves(["a", "c"], [cap(10)]);
    expect(events.filter(({ type }) => type === "run.paused")).toHaveLength(1);
  });
});

describe("a run in which nothing follows", () => {
  const unresolved = (reason: string | null) => ({
    status: "unresolved",
    reason,
    attempts: [attempt("unresolved", "held", 5, { unresolved: "too old" })],
  });
  const pauseOf = (steps: Steps) => decidedOf(runningState(steps)).events;

  test("waits for who knows what became of a submit", () => {
    const next =
      "up to $0.000005 stays reserved. Say which job belongs to this step: showrunner adopt r a <job-id|none>";
    const message = (why: string) => [{ type: "run.paused", reason: "unresolved", message: `a: ${why}; ${next}` }];
    expect(pauseOf([[job("a"), unresolved("the line went dead")]])).toEqual(message("the line went dead"));
    expect(pauseOf([[job("a"), unresolved(null)]])).toEqual(message("the submit request was never answered"));
  });

  test("waits for decisions, and says what the first of them asks", () => {
    const shown = { status: "running" };
    const message = (what: string) => [
      { type: "run.paused", reason: "approval", message: `${what}. Review and decide: showrunner approve r` },
    ];
    const a = [job("a"), { status: "succeeded", outputs: [] }] as const;
    expect(pauseOf([a, [gate("ok", [ref("a", "all")]), shown]])).toEqual(message("Waiting for a decision on ok"));
    const asks = gate("ok", [ref("a", "all")], false, 'say "yes"');
    expect(
      pauseOf([a, [asks, shown], [gate("too", [ref("a", "all")]), shown], [gate("done", []), { status: "succeeded" }]]),
    ).toEqual(message('Waiting for a decision on ok (and 1 more) ("say \\"yes\\"")'));
  });

  test("has ended once all of its steps have, after it was resumed where it is paused", () => {
    const over = [[job("a"), { status: "failed", reason: "no" }]] as const;
    expect(pauseOf(over)).toEqual([{ type: "run.finished", status: "failed", message: "a: no" }]);
    expect(decidedOf(runningState(over, { status: "paused" })).events).toEqual([{ type: "run.resumed" }]);
  });
});

test("what ends in a turn lets nothing new begin in it, while all that is on the service is seen through", () => {
  const done = { status: "running", attempts: [attempt("failed", "settled", 0, { costMicros: 5, completedAt: 1 })] };
  const steps = [
    [job("a"), done],
    [job("b"), inQueue(5)],
    [job("c"), priced],
    [job("d"), { status: "running", attempts: [attempt("submitting.unknown", "held", 5)] }],
    [job("e"), { status: "succeeded", attempts: [attempt("completed", "held", 5, { outputs: [uncopied(0)] })] }],
  ] as const;
  const { events, commands } = decidedOf(runningState(steps));
  expect(events).toEqual([{ type: "step.finished", step: "a", status: "failed", reason: "the job failed" }]);
  expect(commands.map(({ type, ...rest }) => `${type} ${"step" in rest ? rest.step : ""}`)).toEqual([
    "follow b",
    "submit d",
    "settle e",
    "download e",
  ]);
});

describe("a local function", () => {
  const error = { code: ownText("TASK_FAILED"), message: ownText("no"), retryable: false };
  const of = (own: object, attempts = 3, more: Partial<RunState> = {}, context: Partial<DecideContext> = {}) =>
    decidedOf(runningState([[task("cut", { n: 1 }, { attempts }), own]], more), context);
  const run = { type: "task", step: "cut", input: { n: 1 } };
  const tried = (times: number, at = 0) => ({
    status: "running",
    attempts: Array.from({ length: times }, (_, index) => failedTry(index + 1, error, at)),
  });

  test("is begun, run again after a crash, and over once it has a value", () => {
    expect(of({})).toEqual({ events: [{ type: "step.started", step: "cut" }], commands: [run], wakeAt: null });
    expect(of({ status: "running" })).toEqual({ events: [], commands: [run], wakeAt: null });
    const nothing = { events: [], commands: [], wakeAt: null };
    expect(of({ status: "running" }, 3, {}, { active: new Set(["task:cut"]) })).toEqual(nothing);
    expect(of({}, 3, { status: "paused" })).toEqual(nothing);
    expect(of({ status: "running" }, 3, { status: "paused" }).commands).toEqual([]);
    expect(of({ status: "running", value: 0 }).events).toEqual([
      { type: "step.finished", step: "cut", status: "succeeded", reason: null },
    ]);
  });

  test("is tried again after a second that doubles each time, as often as its policy says", () => {
    const waits = [1, 2, 3].map((times) => of(tried(times, NOW), 9).wakeAt! - NOW);
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(of(tried(1, NOW - 1_000)).commands).toEqual([run]);
    expect(of(tried(3)).events).toEqual([{ type: "step.finished", step: "cut", status: "failed", reason: "no" }]);
  });

  test("takes one of its own slots, which others wait for", () => {
    const limits = { total: 1, perModel: {}, perModality: { task: 1 } };
    const state = runningState([[task("one")], [task("two")], [job("a"), priced]]);
    state.planned = { ...state.planned, limits };
    expect(decidedOf(state).commands.map((command) => ("step" in command ? command.step : ""))).toEqual(["one", "a"]);
  });
});
