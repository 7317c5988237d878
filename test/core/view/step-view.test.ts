import { expect, test } from "vitest";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { outputStatus, plannedStep, stepView } from "../../../src/core/view/step-view.ts";
import { attempt, output } from "../run/support/attempts.ts";
import { runningState } from "../run/support/decided.ts";
import { job } from "../run/support/plans.ts";
import { chat, gate, pick, task } from "../run/support/steps.ts";

const error = { code: "INTERNAL", message: "no", retryable: true };
const asked = (n: number, more: object = {}) => ({
  ...{
    n,
    phase: "answered",
    holdMicros: 50,
    costMicros: 5,
    error: null,
    jobId: `c${n}`,
    answer: null,
    sentAt: 20,
    endedAt: 21,
    ...more,
  },
});
/** The view of one step in some state. */
function view(plan: PlanStep, own: object) {
  return stepView(plan, runningState([[plan, own]]).steps[plan.path]!);
}

test("a view has jobs that were sent or refused, then chats, then failed tries", () => {
  const own = {
    ...{
      superseded: 1,
      failures: [
        { at: 30, error },
        { at: 31, error },
      ],
    },
    attempts: [
      attempt(1),
      attempt(2, { intendedAt: null, error }),
      attempt(3, { intendedAt: null, costMicros: null, money: "none" }),
    ],
    chats: [
      asked(1),
      asked(2, { phase: "sent", costMicros: null, endedAt: null }),
      asked(3, { phase: "abandoned", costMicros: null }),
    ],
  };
  const seen = view(chat("talk"), own);
  const none = { model: null, jobId: null, input: null, quote: null, sentAt: null, submittedAt: null, outputs: [] };
  expect(seen.attempts.map(({ kind, n, isSuperseded }) => [kind, n, isSuperseded])).toEqual([
    ...[
      ["job", 1, true],
      ["job", 2, false],
      ["chat", 1, true],
      ["chat", 2, false],
      ["chat", 3, false],
      ["try", 1, false],
      ["try", 2, false],
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
      n: 2,
      phase: "sent",
      model: "talk",
      jobId: "c2",
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
      n: 2,
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
    current: { kind: "job", n: 3 },
    costMicros: 60 + 60 + 5,
    heldMicros: 50,
    model: "talk",
    error: null,
  });
});

test("a view names what failed last, and knows no cost before the first bill", () => {
  const tries = view(task("cut"), {
    status: "running",
    failures: [
      { at: 1, error: { ...error, code: "A" } },
      { at: 2, error },
    ],
  });
  expect(tries).toMatchObject({
    model: null,
    phase: "working",
    error,
    current: null,
    costMicros: null,
    heldMicros: 0,
    quote: null,
    value: null,
  });
  expect(view(chat("talk"), { chats: [asked(1, { phase: "failed", error })], value: 3 })).toMatchObject({
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
