import fc from "fast-check";
import { expect, test } from "vitest";
import { RunScheduler } from "../../src/engine/drive/run-scheduler.ts";
import { ExpectedDurations } from "../../src/engine/price/expected-durations.ts";
import { builtInFamilies } from "../../src/families/index.ts";
import type { RunEvent, RunPlanned, StoredEvent } from "../../src/journal/events.ts";
import { newRun } from "../../src/journal/fold.ts";
import type { RunState } from "../../src/journal/state.ts";
import { planGraph } from "../../src/plan/list-schedule.ts";
import { byRank, stepRanks } from "../../src/plan/makespan.ts";
import type { JobStep, Plan } from "../../src/plan/plan.ts";
import type { JobLimits } from "../../src/plan/slots.ts";
import { job, planOf } from "../run/support/plans.ts";

const limits: JobLimits = { total: 3, perModel: { m1: 1 }, perModality: {} };
const noHistory = { store: { results: async () => [] }, account: "a", families: builtInFamilies, now: () => 0 };

function running(plan: Plan): RunState {
  const state = newRun("r", { plan, limits } as RunPlanned, 0);
  state.activeTime.ms = Number.POSITIVE_INFINITY;
  return state;
}

/** The step has ended, and its job took so long. */
function finished(state: RunState, path: string, ms: number): readonly StoredEvent[] {
  const step = state.steps[path]!;
  step.status = "succeeded";
  const sent = { n: 1, phase: "completed", submittedAt: 1000, completedAt: 1000 + ms, input: {} };
  step.attempts = [sent as unknown as (typeof step.attempts)[number]];
  const event: RunEvent = { type: "step.finished", step: path, status: "succeeded", reason: null };
  return [{ runId: "r", seq: 1, at: 0, version: 1, event }];
}

const of = (path: string, model: string, after: readonly string[] = []): JobStep => ({
  ...job(path, {}, { after }),
  model,
});

const anyRun = fc
  .array(fc.tuple(fc.array(fc.nat(), { maxLength: 2 }), fc.nat(2), fc.integer({ min: 1, max: 60_000 })), {
    minLength: 1,
    maxLength: 30,
  })
  .map((steps) => ({
    plan: planOf(
      steps.map(([before, model], at) =>
        of(
          `s${at}`,
          `m${model}`,
          before.map((one) => `s${one % Math.max(1, at)}`).filter((path) => path !== `s${at}`),
        ),
      ),
    ),
    took: steps.map(([, , ms]) => ms),
  }));

test("the order as steps finish is that of the rest, ranked by what has been learnt until it changed", async () => {
  await fc.assert(
    fc.asyncProperty(anyRun, async ({ plan, took }) => {
      const state = running(plan);
      const durations = new ExpectedDurations(noHistory);
      const scheduler = await RunScheduler.of(state, durations);
      const graph = planGraph(plan, limits);
      let { order } = scheduler.schedule(plan);
      for (const [at, { path }] of plan.steps.entries()) {
        scheduler.learn(finished(state, path, took[at]!));
        const next = scheduler.schedule(plan).order;
        expect(new Set(next)).toEqual(new Set(plan.steps));
        if (next === order) continue;
        order = next;
        const left = plan.steps.map((step, one) => (one <= at ? 0 : durations.expectedMs(step)));
        const anew = [...plan.steps.keys()].sort(byRank(stepRanks(graph, left))).map((one) => plan.steps[one]!);
        expect(order).toEqual(anew);
      }
    }),
  );
});

test("what finishes late moves the others of its model forward, and what was known stays an object of its own", async () => {
  const plan = planOf([of("a", "m0"), of("b", "m2"), of("a2", "m0"), of("b2", "m2"), of("end", "m3", ["a2", "b2"])]);
  const state = running(plan);
  const scheduler = await RunScheduler.of(state, new ExpectedDurations(noHistory));
  const first = scheduler.schedule(plan);
  expect(first.order.map(({ path }) => path)).toEqual(["a2", "b2", "a", "b", "end"]);
  expect(scheduler.schedule(plan)).toBe(first);
  scheduler.learn(finished(state, "a", 10_000));
  scheduler.learn(finished(state, "b", 90_000));
  const second = scheduler.schedule(plan);
  const open = second.order.map(({ path }) => path).filter((path) => state.steps[path]!.status === "waiting");
  expect(open).toEqual(["b2", "a2", "end"]);
  expect(first.order.map(({ path }) => path)).toEqual(["a2", "b2", "a", "b", "end"]);
  expect(second.priority("b2")).toBe(50);
});

test("a change that is the same for all steps changes no order", async () => {
  const plan = planOf(Array.from({ length: 20 }, (_, at) => of(`s${at}`, "m0")));
  const state = running(plan);
  const scheduler = await RunScheduler.of(state, new ExpectedDurations(noHistory));
  const first = scheduler.schedule(plan);
  for (const { path } of plan.steps.slice(0, 10)) scheduler.learn(finished(state, path, 400_000));
  expect(scheduler.schedule(plan)).toBe(first);
});

test("a large run is ranked a few times, however many steps finish and whatever they take", async () => {
  const plan = planOf(Array.from({ length: 3000 }, (_, at) => of(`s${at}`, `m${at % 3}`)));
  const state = running(plan);
  const scheduler = await RunScheduler.of(state, new ExpectedDurations(noHistory));
  const schedules = new Set([scheduler.schedule(plan)]);
  for (const [at, { path }] of plan.steps.slice(0, 2700).entries()) {
    scheduler.learn(finished(state, path, 1000 * (at % 3 === 0 ? 1 + at : 1 + (at % 7))));
    schedules.add(scheduler.schedule(plan));
  }
  expect(schedules.size).toBeGreaterThan(2);
  // Each time an eighth of what is left has finished: 8 times the logarithm of what the run has shrunk by.
  expect(schedules.size).toBeLessThan(2 + 8 * Math.log(10) + 2);
});

test("what the service expects of a job in flight counts, for jobs of its model that nothing is known of", async () => {
  const plan = planOf([of("a", "m0"), of("b", "m2"), of("b2", "m2")]);
  const state = running(plan);
  const durations = new ExpectedDurations(noHistory);
  const scheduler = await RunScheduler.of(state, durations);
  scheduler.schedule(plan);
  state.steps["b"]!.attempts = [{ n: 1, phase: "inProgress", submittedAt: 5000 } as never];
  scheduler.estimate({ step: "b", fraction: 0.1, estimatedCompletionAt: 65_000 });
  scheduler.estimate({ step: "a", fraction: 0.1, estimatedCompletionAt: 65_000 });
  expect(plan.steps.map((step) => durations.expectedMs(step))).toEqual([10_000, 60_000, 60_000]);
  expect(scheduler.schedule(plan).order.map(({ path }) => path)).toEqual(["b", "b2", "a"]);
});
