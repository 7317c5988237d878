import { expect, test } from "vitest";
import { decideUntilStable } from "../../../src/core/engine/drive/decide-until-stable.ts";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { Scheduler } from "../../../src/core/run/scheduler.ts";
import { HOUR_MS, NOW, runningState } from "../run/support/decided.ts";
import { job, ref } from "../run/support/plans.ts";

const step = "late";
const answers: readonly (readonly RunEvent[])[] = [
  [{ type: "step.finished", step, status: "failed", reason: "its price was refused" }],
  [
    { type: "step.started", step },
    { type: "step.finished", step, status: "failed", reason: "its price was refused" },
  ],
  [
    {
      type: "step.reused",
      step,
      outputs: [],
      from: { runId: "other", step, jobId: null, completedAt: 0 },
      value: null,
    },
  ],
];
const ended = ["succeeded", "partial", "failed", "skipped", "cancelled"] as const;
const cases = ended.flatMap((status) => answers.map((given) => ({ status, given, what: given.at(-1)!.type })));

test.each(cases)("$what of a step that was $status meanwhile changes nothing", ({ status, given }) => {
  const steps = [[job(step), { status, reason: "as it was" }], [job("other")]] as const;
  const state = runningState(steps, {}, { returns: { film: ref("other") } });
  const { events } = decideUntilStable(state, new Scheduler(state), {
    answers: given,
    ...{ inbox: [], headrooms: [], active: new Set(), notBefore: new Map(), unsent: new Set(), interrupted: new Set() },
    ...{ now: NOW, order: () => state.planned.plan.steps, clockOffsetMs: 0, idempotencyWindowMs: 24 * HOUR_MS },
    ...{ isStopped: false, stopIfRequested: () => false, asksForLate: false },
    expected: () => ({ ms: 1_000, isLearned: false }),
  });
  expect(events.filter((event) => "step" in event && event.step === step)).toEqual([]);
  expect(state.steps[step]).toMatchObject({ status, reason: "as it was" });
});
