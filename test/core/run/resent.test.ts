import { expect, test } from "vitest";
import type { RunEvent } from "../../../src/core/journal/events.ts";
import { ownText } from "../../../src/core/kit/clean-text.ts";
import { FakeRun, PRICE } from "./support/fake-run.ts";
import { job, planOf } from "./support/plans.ts";

const HOUR_MS = 3_600_000;

function sent(step: string): readonly RunEvent[] {
  const attempt = 1;
  const request = { key: `key-${step}`, model: "m", input: { prompt: step } };
  return [
    { type: "job.quoted", step, attempt, costMicros: PRICE, basis: "quoted" },
    { type: "step.started", step },
    { type: "job.submit.intended", step, attempt, ...request, holdMicros: PRICE, clockOffsetMs: 0 },
  ];
}

test("A submit that is sent again in the turn in which another step ends is noted all the same", () => {
  const run = new FakeRun({ plan: planOf([job("a"), job("b")]), total: 2 });
  const error = { code: ownText("INTERNAL"), message: ownText("failed on paper"), retryable: false };
  run.take([
    { type: "run.started" },
    ...sent("a"),
    ...sent("b"),
    { type: "job.submitted", step: "a", attempt: 1, jobId: "job-a", model: "m", replayed: false },
    { type: "job.submit.unknown", step: "b", attempt: 1, message: ownText("no answer"), clockOffsetMs: 0 },
    { type: "job.failed", step: "a", attempt: 1, error },
    { type: "job.settled", step: "a", attempt: 1, costMicros: 0 },
  ]);
  run.now += HOUR_MS;
  run.decide();
  expect(run.state.steps.a!.status).toBe("failed");
  expect([...run.active.keys()]).toContain("submit:b#1");
  expect(run.state.steps.b!.attempts[0]!.lastSentAt).toBe(run.now);
});

test("A submit of which nothing left for hours is noted before it is tried again, so that a death after it hides no job [G5]", () => {
  const run = new FakeRun({ plan: planOf([job("a")]), total: 1 });
  run.take([{ type: "run.started" }, ...sent("a")]);
  run.unsent.add("submit:a#1");
  run.now += 50 * HOUR_MS;
  run.decide();
  expect([...run.active.keys()]).toContain("submit:a#1");
  expect(run.state.steps.a!.attempts[0]!.lastSentAt).toBe(run.now);
});

test("A submit of which nothing left is held against the budget again once its model charges more than was reserved", () => {
  const run = new FakeRun({ plan: planOf([job("a"), job("b")]), total: 2, budgetMicros: 3 * PRICE - 1 });
  const submitted = { type: "job.submitted", attempt: 1, model: "m", replayed: false } as const;
  run.take([{ type: "run.started" }, ...sent("a"), ...sent("b"), { ...submitted, step: "a", jobId: "job-a" }]);
  run.unsent.add("submit:b#1");
  run.take([
    { type: "job.completed", step: "a", attempt: 1, outputs: [] },
    { type: "job.settled", step: "a", attempt: 1, costMicros: 2 * PRICE },
  ]);
  run.decide();
  expect(run.active.has("submit:b#1")).toBe(false);
  expect(run.state.heldMicros).toBe(0);
  expect(run.events.at(-1)!.event).toMatchObject({ type: "run.paused", reason: "budget" });
});
