import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { criticalPath, makespan } from "../../src/plan/index.ts";
import { listSchedule, planGraph } from "../../src/plan/list-schedule.ts";
import { byRank, stepRanks } from "../../src/plan/makespan.ts";
import type { JobStep, Plan, PlanStep } from "../../src/plan/plan.ts";
import type { JobLimits } from "../../src/plan/slots.ts";
import { job } from "../run/support/plans.ts";

const step = (path: string, needs: readonly string[], model = "m"): JobStep => ({ ...job(path), needs, model });
const planOf = (steps: readonly JobStep[]): Plan => ({ version: 1, pipeline: "p", steps, returns: {} });
const free: JobLimits = { total: 1000, perModel: {}, perModality: {} };

/** Steps of three models, some of no duration, under limits that make them wait. */
const anyCase = fc
  .record({
    steps: fc.array(fc.tuple(fc.array(fc.nat(), { maxLength: 3 }), fc.nat(2), fc.nat(9)), {
      minLength: 1,
      maxLength: 40,
    }),
    total: fc.integer({ min: 1, max: 6 }),
    perModel: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
  })
  .map(({ steps, total, perModel }) => {
    const plan = planOf(
      steps.map(([before, model], index) => {
        const needs = index === 0 ? [] : [...new Set(before.map((one) => `s${one % index}`))].sort();
        return step(`s${index}`, needs, `m${model}`);
      }),
    );
    const limits: JobLimits = {
      total,
      perModality: {},
      perModel: { m0: perModel[0]!, m1: perModel[1]!, m2: perModel[2]! },
    };
    return { plan, limits, durations: steps.map(([, , ms]) => ms) };
  });

describe("the ranks of steps", () => {
  test("are at least the step's duration above those of what depends on it", () => {
    fc.assert(
      fc.property(anyCase, ({ plan, limits, durations }) => {
        const graph = planGraph(plan, limits);
        const ranks = stepRanks(graph, durations);
        for (const [index, dependents] of graph.dependents.entries()) {
          const after = Math.max(0, ...dependents.map((one) => ranks[one]!));
          expect(ranks[index]).toBeGreaterThanOrEqual(durations[index]! + after);
        }
      }),
    );
  });

  test("are the longest chain from each where nothing has to wait", () => {
    fc.assert(
      fc.property(anyCase, ({ plan, durations }) => {
        const ranks = stepRanks(planGraph(plan, free), durations);
        const { lengthMs } = criticalPath(plan, ({ path }) => durations[Number(path.slice(1))]!);
        expect(Math.max(...ranks)).toBe(lengthMs);
      }),
    );
  });

  test("put first what feeds a crowded model, where chains alone say otherwise", () => {
    const shots = ["1", "2", "3"];
    const plan = planOf([
      step("cover", [], "picture"),
      step("long", ["cover"], "upscale"),
      ...shots.flatMap((n) => [step(`picture-${n}`, [], "picture"), step(`reel-${n}`, [`picture-${n}`], "reel")]),
    ]);
    const limits: JobLimits = { total: 8, perModel: { picture: 1, reel: 1 }, perModality: {} };
    const durationMs = ({ path }: PlanStep) => (path === "long" ? 20 : path.startsWith("reel") ? 10 : 5);
    // The longest chain is that of the cover; but three reels, one after the other, take longer.
    expect(criticalPath(plan, durationMs).path).toEqual(["cover", "long"]);
    const started: string[] = [];
    const ms = makespan(plan, durationMs, limits, ({ path }) => void started.push(path));
    expect([started[0], ms]).toEqual(["picture-1", 35]);
  });

  test("leave equal steps in the order that was asked for, whatever the limits", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 5 }), (count, total) => {
        const plan = planOf(Array.from({ length: count }, (_, index) => step(`s${index}`, [])));
        const graph = planGraph(plan, { ...free, total });
        const ms = plan.steps.map(() => 7);
        const backwards = (a: number, b: number) => b - a;
        for (const ties of [undefined, backwards]) {
          const order = [...plan.steps.keys()].sort(byRank(stepRanks(graph, ms, ties), ties));
          expect(order).toEqual([...plan.steps.keys()].sort(ties ?? ((a, b) => a - b)));
        }
      }),
    );
  });
});

describe("a schedule in simulated time", () => {
  test("is never shorter than the critical path, nor than a model's work by its limit", () => {
    fc.assert(
      fc.property(anyCase, ({ plan, limits, durations }) => {
        const durationMs = ({ path }: { readonly path: string }) => durations[Number(path.slice(1))]!;
        const ms = makespan(plan, durationMs, limits);
        expect(ms).toBeGreaterThanOrEqual(criticalPath(plan, durationMs).lengthMs);
        for (const [model, limit] of Object.entries(limits.perModel)) {
          const work = plan.steps.reduce(
            (sum, one) => sum + ("model" in one && one.model === model ? durationMs(one) : 0),
            0,
          );
          expect(ms).toBeGreaterThanOrEqual(work / limit);
        }
      }),
    );
  });

  test("starts every step once, after what it needs, with no more of a model at once than its limit", () => {
    fc.assert(
      fc.property(anyCase, fc.boolean(), ({ plan, limits, durations }, backwards) => {
        const graph = planGraph(plan, limits);
        const startsAt = new Map<number, number>();
        const order = byRank(stepRanks(graph, durations));
        const { endsAt } = listSchedule(graph, durations, order, {
          backwards,
          onStart: (one, at) => startsAt.set(one, at),
        });
        expect(startsAt.size).toBe(plan.steps.length);
        const before = backwards ? graph.dependents : graph.needs;
        for (const [one, at] of startsAt) {
          for (const needed of before[one]!) expect(at).toBeGreaterThanOrEqual(endsAt[needed]!);
          const sameTime = [...startsAt].filter(([other, from]) => from <= at && at < endsAt[other]!);
          expect(sameTime.length).toBeLessThanOrEqual(limits.total);
          const ofModel = sameTime.filter(([other]) => graph.groupOf[other] === graph.groupOf[one]);
          const { model } = plan.steps[one] as JobStep;
          expect(ofModel.length).toBeLessThanOrEqual(limits.perModel[model]!);
        }
      }),
    );
  });
});
