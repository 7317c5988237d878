import { expect, test } from "vitest";
import { newRun } from "../../../src/core/journal/events.ts";
import type { RunState } from "../../../src/core/journal/state.ts";
import { hasUncollectedWork, openJobs } from "../../../src/core/run/open-jobs.ts";
import { planned } from "../journal/samples.ts";
import { job, planOf } from "./support/plans.ts";
import { chat } from "./support/steps.ts";

function stateOf(keep = true): RunState {
  return newRun("r", { ...planned(), plan: planOf([job("a", {}, { keep }), job("b"), chat("talk")]) }, 0);
}

/** A run whose second attempt of `a` is as given; the first one is over. */
function withAttempt(attempt: object, { keep = true } = {}): RunState {
  const state = stateOf(keep);
  const over = { n: 1, phase: "failed", money: "settled", jobId: "j1", outputs: [], holdMicros: 1 };
  state.steps.a!.attempts.push(over as never, { ...over, n: 2, jobId: "j2", holdMicros: 7, ...attempt } as never);
  return state;
}

const available = { phase: "available", voiceId: null };

test.each([
  ["nothing was sent", stateOf(), false],
  ["its job failed and was paid", withAttempt({}), false],
  ["its bill is not known", withAttempt({ money: "held" }), true],
  ["its job completed and the bill is not known", withAttempt({ phase: "completed", money: "held" }), true],
  ["its job has not ended", withAttempt({ phase: "inQueue", money: "held", outputs: [available] }), false],
  ["an output has no copy", withAttempt({ phase: "completed", outputs: [{ phase: "failed" }, available] }), true],
  ["so has one of a failed job", withAttempt({ outputs: [available] }), true],
  [
    "its outputs stay on the service",
    withAttempt({ phase: "completed", outputs: [available] }, { keep: false }),
    false,
  ],
  ["but its bill is not known", withAttempt({ phase: "completed", money: "held" }, { keep: false }), true],
  ["all have copies", withAttempt({ phase: "completed", outputs: [{ phase: "downloaded", voiceId: null }] }), false],
  [
    "it is a voice, which is no file",
    withAttempt({ phase: "completed", outputs: [{ ...available, voiceId: "v" }] }),
    false,
  ],
])("paid work of a step may be left on the service: %s", (_what, state, isLeft) => {
  expect(hasUncollectedWork(state)).toBe(isLeft);
});

test("work of a step that the plan no longer has is left there too", () => {
  const state = withAttempt({ money: "held" });
  const [a, ...others] = state.planned.plan.steps;
  state.planned = { ...state.planned, plan: planOf(others) };
  expect(hasUncollectedWork(state)).toBe(false);
  state.removedSteps.push(a!);
  expect(hasUncollectedWork(state)).toBe(true);
});

test("what goes on on the service, and bills, is listed with what is reserved for it", () => {
  const money = "held";
  const state = withAttempt({ phase: "inProgress", money });
  state.steps.b!.attempts.push({ phase: "submitting.sent", money, jobId: null, holdMicros: 3, outputs: [] } as never);
  state.steps.talk!.attempts.push(
    { kind: "chat", phase: "abandoned", money: "unconfirmed", jobId: null, holdMicros: 4 } as never,
    { kind: "chat", phase: "submitting.sent", money, jobId: "c2", holdMicros: 5 } as never,
  );
  expect(openJobs(withAttempt({ phase: "inProgress" }))).toEqual([{ step: "a", jobId: "j2", holdMicros: 0 }]);
  expect(openJobs(state)).toEqual([
    { step: "a", jobId: "j2", holdMicros: 7 },
    { step: "b", jobId: null, holdMicros: 3 },
    { step: "talk", jobId: "c2", holdMicros: 5 },
  ]);
});

test("what may go on there only, or at a provider, says so", () => {
  const state = withAttempt({ phase: "unresolved", money: "held", jobId: null });
  state.steps.b!.attempts.push({
    phase: "inQueue",
    money: "held",
    jobId: "gen_1",
    provider: "mock",
    holdMicros: 3,
  } as never);
  expect(openJobs(state)).toEqual([
    { step: "a", jobId: null, holdMicros: 7, isUnresolved: true },
    { step: "b", jobId: "gen_1", holdMicros: 3, provider: "mock" },
  ]);
});
