import { expect, test, vi } from "vitest";
import type { StoredEvent } from "../../../src/core/journal/events.ts";
import type { PlanStep } from "../../../src/core/plan/plan.ts";
import { isFull } from "../../support/sample.ts";
import { FakeRun, type Fate, PRICE, type World } from "./support/fake-run.ts";
import { job, planOf, ref } from "./support/plans.ts";

// A full check shares the machine with others.
vi.setConfig({ testTimeout: 600_000 });

const SEEDS = isFull ? 1000 : 250;

test(`On a graph of 200 steps with 10 random failures, money spent after the first doomed moment: 0 in ${SEEDS} seeds [G19]`, () => {
  let left = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = graphOf200(seed);
    const run = inBatches(world, dice(seed));
    expect({ seed, late: spentLate(world.plan.steps, run.events) }).toEqual({ seed, late: 0 });
    left += Object.values(run.state.steps).filter(({ pruned }) => pruned).length;
  }
  // Else the graphs are such that nothing is ever left out, and the test says nothing.
  expect(left).toBeGreaterThan(10 * SEEDS);
});

/** Numbers below 2^31, the same for a seed each time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state;
  };
}

/** Jobs that each use up to three of the forty before them; ten of them fail. */
function graphOf200(seed: number): World {
  const next = dice(seed * 7919);
  next();
  const steps = Array.from({ length: 200 }, (_, index) => {
    const nearest = Math.min(40, index);
    const uses = Array.from(
      { length: nearest === 0 ? 0 : 1 + (next() % 3) },
      () => `s${index - 1 - (next() % nearest)}`,
    );
    const input =
      index % 10 === 0
        ? { list: uses.map((path) => ref(path)) }
        : Object.fromEntries(uses.map((path) => [path, ref(path)]));
    return job(
      `s${index}`,
      input,
      index % 10 === 0 && uses.length > 0 ? { onFailure: { quorum: 1 }, keep: false } : { keep: false },
    );
  });
  const failing = Array.from({ length: 10 }, () => `s${next() % 200}`);
  const fates = Object.fromEntries(failing.map((path): [string, readonly Fate[]] => [path, ["failed"]]));
  return { plan: planOf(steps, { last: ref("s199") }), fates, total: 8 + (seed % 16) };
}

/** Several answers at once, as they come to an engine. Priced beforehand, as a run is. */
function inBatches(world: World, next: () => number): FakeRun {
  const run = new FakeRun(world);
  const quote = { type: "job.quoted", attempt: 1, costMicros: PRICE, basis: "quoted" } as const;
  run.take(world.plan.steps.map(({ path }) => ({ ...quote, step: path })));
  for (run.decide(); run.active.size > 0; run.decide()) {
    for (let count = 1 + (next() % run.active.size); count > 0; count--) run.answer(next());
  }
  expect(run.run()).toBe(true);
  return run;
}

/** What was spent on steps that led to no root any more when they were submitted, worked out from the events alone. */
function spentLate(steps: readonly PlanStep[], events: readonly StoredEvent[]): number {
  const failed = new Set<string>();
  const used = new Set(steps.flatMap(({ needs }) => needs));
  const roots = steps.map(({ path }) => path).filter((path) => !used.has(path) || path === "s199");
  let late = 0;
  let alive = aliveFor(steps, roots, failed);
  for (const { event } of events) {
    if (event.type === "job.failed") {
      failed.add(event.step);
      alive = aliveFor(steps, roots, failed);
    }
    if (event.type === "job.submit.intended" && !alive.has(event.step)) late += event.holdMicros;
  }
  return late;
}

/** Steps that some root can still come of. */
function aliveFor(
  steps: readonly PlanStep[],
  roots: readonly string[],
  failed: ReadonlySet<string>,
): ReadonlySet<string> {
  const lost = new Set(failed);
  for (const step of steps) {
    const gone = step.needs.filter((path) => lost.has(path)).length;
    const isQuorum = "policy" in step && typeof step.policy.onFailure === "object";
    if (isQuorum ? gone > 0 && gone === step.needs.length : gone > 0) lost.add(step.path);
  }
  const alive = new Set(roots.filter((path) => !lost.has(path)));
  for (const step of steps.toReversed()) {
    if (alive.has(step.path)) for (const path of step.needs) if (!lost.has(path)) alive.add(path);
  }
  return alive;
}
