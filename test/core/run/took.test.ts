import { expect, test } from "vitest";
import { lastAttempt } from "../../../src/core/journal/state.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { ResultRecorder, tookOf } from "../../../src/core/run/result-recorder.ts";
import { FakeRun } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";
import { chat, gate, task } from "./support/steps.ts";

const steps: readonly PlanStep[] = [
  { ...job("film", { duration_ms: 4000, quality: "pro" }), yields: "video" },
  chat("story"),
  task("cut", ref("film")),
  gate("ok", [ref("film")]),
];

/** A run that has ended, with a minute for each job on the service. */
function ended(fates = {}): FakeRun {
  const run = new FakeRun({ plan: planOf(steps), decisions: "first", fates });
  const isFollow = (id: string) => id.startsWith("follow:");
  run.run(() => {
    const at = [...run.active.keys()].findIndex((id) => !isFollow(id));
    if (at < 0) run.now += 60_000;
    return Math.max(0, at);
  });
  return run;
}

const of = ({ state }: FakeRun, path: string, since = 0) =>
  tookOf(state, steps.find((step) => step.path === path)!, since);

test("a job took what passed from its acceptance to its end", () => {
  const run = ended();
  const { submittedAt, completedAt } = lastAttempt(run.state.steps["film"]!)!;
  expect(completedAt! - submittedAt!).toBeGreaterThan(60_000);
  expect(of(run, "film")).toBe(completedAt! - submittedAt!);
});

test("chats and functions count too, decisions of people never", () => {
  const run = ended();
  const chat = run.state.steps["story"]!.attempts[0]!;
  expect(of(run, "story")).toBe(chat.completedAt! - chat.intendedAt!);
  const { startedAt, finishedAt } = run.state.steps["cut"]!;
  expect(of(run, "cut")).toBe(finishedAt! - startedAt!);
  expect(of(run, "ok")).toBeNull();
});

test("nothing is said of what failed, was tried again, or was made by an earlier run", () => {
  const failed = ended({ film: ["failed"], cut: ["failed", "made"] });
  expect([of(failed, "film"), of(failed, "cut")]).toEqual([null, null]);
  const run = ended();
  run.state.steps["film"]!.reusedFrom = { runId: "r", step: "film", attempt: 1 } as never;
  expect(of(run, "film")).toBeNull();
});

test("what was in flight when this process took the run over is not known, what had ended by then is", () => {
  const run = ended();
  const { submittedAt, completedAt } = lastAttempt(run.state.steps["film"]!)!;
  expect(of(run, "film", submittedAt! + 1)).toBeNull();
  expect(of(run, "film", completedAt!)).toBeNull();
  expect(of(run, "film", completedAt! + 1)).not.toBeNull();
});

test("nothing took longer than the run was at work: the rest it was paused, or nobody drove it", () => {
  const run = ended();
  run.state.activeTime.ms = 100;
  expect(of(run, "film")).toBeNull();
});

test("results of jobs and chats are recorded with it", () => {
  const run = ended();
  const recorded = new ResultRecorder(run.state).due(run.state, [], true);
  expect(recorded.map(({ step, tookMs }) => [step, tookMs !== undefined])).toEqual([
    ["film", true],
    ["story", true],
    ["cut", false],
  ]);
});
