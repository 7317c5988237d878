import { expect, test } from "vitest";
import { newAttempt } from "../../../src/core/journal/state.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { outputStatus, plannedStep, stepView } from "../../../src/core/view/step-view.ts";
import { attempt, failedTry, output } from "../run/support/attempts.ts";
import { runningState } from "../run/support/decided.ts";
import { job } from "../run/support/plans.ts";
import { chat, gate, pick, task } from "../run/support/steps.ts";

const error = { code: ownText("INTERNAL"), message: ownText("no"), retryable: true };
const asked = (n: number, more: object = {}) => ({
  ...newAttempt(n, "chat"),
  ...{
    phase: "completed",
    money: "settled",
    model: "talk",
    holdMicros: 50,
    costMicros: 5,
    jobId: `c${n}`,
    intendedAt: 20,
    completedAt: 21,
    ...more,
  },
});
/** The view of one step in some state. */
function view(plan: PlanStep, own: object) {
  return stepView(plan, runningState([[plan, own]]).steps[plan.path]!);
}

test("a view has the jobs, chats and tries that were sent, refused or failed", () => {
  const own = {
    superseded: 1,
    attempts: [
      attempt(1),
      attempt(2, { intendedAt: null, error }),
      asked(3),
      asked(4, { phase: "submitting.sent", money: "held", costMicros: null, completedAt: null }),
      asked(5, { phase: "abandoned", money: "unconfirmed", costMicros: null }),
      failedTry(6, error, 30),
      failedTry(7, error, 31),
      attempt(8, { intendedAt: null, costMicros: null, money: "none" }),
    ],
  };
  const seen = view(chat("talk"), own);
  const none = { model: null, jobId: null, input: null, quote: null, sentAt: null, submittedAt: null, outputs: [] };
  expect(seen.attempts.map(({ kind, n, isSuperseded }) => [kind, n, isSuperseded])).toEqual([
    ...[
      ["job", 1, true],
      ["job", 2, false],
      ["chat", 3, false],
      ["chat", 4, false],
      ["chat", 5, false],
      ["try", 6, false],
      ["try", 7, false],
    ],
  ]);
  expect(seen.attempts[0]).toEqual({
    ...{
      kind: "job",
      n: 1,
      phase: "completed",
      model: "m",
      jobId: "j1",
      input: { x: 1 },
      quote: { costMicros: 80, basis: "quoted" },
    },
    ...{
      holdMicros: 70,
      costMicros: 60,
      money: "settled",
      error: null,
      sentAt: 10,
      submittedAt: 11,
      endedAt: 12,
      isSuperseded: true,
      outputs: [],
    },
  });
  expect(seen.attempts[3]).toEqual({
    ...{
      ...none,
      kind: "chat",
      n: 4,
      phase: "submitting.sent",
      model: "talk",
      jobId: "c4",
      holdMicros: 50,
      costMicros: null,
      money: "held",
    },
    ...{ error: null, sentAt: 20, endedAt: null, isSuperseded: false },
  });
  expect(seen.attempts[4]!.money).toBe("unconfirmed");
  expect(seen.attempts[6]).toEqual({
    ...{
      ...none,
      kind: "try",
      n: 7,
      phase: "failed",
      holdMicros: 0,
      costMicros: null,
      money: "none",
      error,
      endedAt: 31,
      isSuperseded: false,
    },
  });
  expect(seen).toMatchObject({
    current: { kind: "job", n: 8 },
    costMicros: 60 + 60 + 5,
    heldMicros: 50,
    model: "talk",
    error: null,
  });
});

test("a view names what failed last, and knows no cost before the first bill", () => {
  const tries = view(task("cut"), {
    status: "running",
    attempts: [failedTry(1, { ...error, code: ownText("A") }), failedTry(2, error)],
  });
  expect(tries).toMatchObject({
    model: null,
    phase: "working",
    error,
    current: { kind: "try", n: 2 },
    costMicros: null,
    heldMicros: 0,
    quote: null,
    value: null,
  });
  expect(view(chat("talk"), { attempts: [asked(1, { phase: "failed", error })], value: 3 })).toMatchObject({
    error,
    costMicros: 5,
    value: 3,
  });
  expect(plannedStep(job("a"))).toMatchObject({
    status: "waiting",
    phase: "waiting",
    attempts: [],
    costMicros: null,
    outputs: [],
  });
});

test.each([
  ["planned", {}, "pricing"],
  ["priced", { intendedAt: null }, "pricing"],
  ["priced", {}, "waiting"],
  ["submitting.sent", {}, "submitting"],
  ["submitting.unknown", {}, "submitting"],
  ["inQueue", {}, "queued"],
  ["inProgress", {}, "rendering"],
  ["completed", {}, "downloading"],
  ["failed", {}, "pricing"],
  ["refused", {}, "pricing"],
  ["lost", {}, "pricing"],
  ["unresolved", {}, "unresolved"],
])("a running step whose job is %s %j is %s", (phase, more, shown) => {
  const attempts = [attempt(1, { phase, ...more })];
  expect(view(job("a"), { status: "running", attempts }).phase).toBe(shown);
  expect(view(job("a"), { status: "succeeded", attempts }).phase).toBe("succeeded");
});

test("other running steps say what they do", () => {
  const of = (step: PlanStep) => view(step, { status: "running" }).phase;
  expect([job("a"), chat("c"), task("t"), gate("g", []), pick("p", [])].map(of)).toEqual([
    "pricing",
    "asking",
    "working",
    "approval",
    "choosing",
  ]);
});

test("an output of the service has expired where it is gone there; that of a function cannot", () => {
  const of = (phase: string, plan: PlanStep) => outputStatus({ plan }, output(0, { phase }) as never);
  const [made, own] = [job("a"), task("t")];
  expect([of("expired", made), of("archived", made), of("downloaded", made), of("archived", own)]).toEqual([
    ...["EXPIRED", "EXPIRED", "COMPLETED", "COMPLETED"],
  ]);
});
