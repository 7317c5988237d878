/**
 * How long runs take in simulated time beside an oracle's, by the order in which their steps start.
 *
 * - Graphs: seven families, 150 each, of 5 to 300 steps of six models and local functions, some models capped.
 * - Durations are hidden: each model has a start and a price in time for its work (seconds of film, pixels, outputs,
 *   characters) and for its better tier; all of a model is faster or slower in each run (25 %), each job for itself
 *   (5 to 30 %), and one job of a hundred takes three times as long.
 * - `Showrunner` is the engine's own scheduler (`RunScheduler`): it reads what five earlier runs of the family took from a
 *   journal, and ranks anew as steps finish. `without history` starts with typical durations of kinds of media.
 *   `longest chain` is what it did before: ranks by the median of each model, fixed. `FIFO` takes steps as they become ready.
 * - The oracle knows every duration, and has the same list scheduler. Its makespan is the shortest of four orders: ranks
 *   that look ahead for limits, longest chain, FIFO, and longest step first. `oracle's chains` is the second of them alone.
 * - Slots and simulated time are those of the library's forecasts (`listSchedule`), not of `decide`, which would take
 *   minutes. That decisions start the same steps at the same times is a test (test/run/simulated-time.test.ts).
 *
 * Every figure is a makespan divided by the oracle's for the same graph, so that 1 is as good as knowing everything.
 */

import { RunScheduler } from "../src/engine/drive/run-scheduler.ts";
import { ExpectedDurations } from "../src/engine/price/expected-durations.ts";
import { builtInFamilies } from "../src/families/index.ts";
import type { RunPlanned, StoredEvent } from "../src/journal/events.ts";
import { newRun } from "../src/journal/fold.ts";
import type { RunState } from "../src/journal/state.ts";
import type { StoredResult, Took } from "../src/journal/store.ts";
import { listSchedule, type PlanGraph, planGraph, type StepOrder } from "../src/plan/list-schedule.ts";
import { byRank, stepRanks } from "../src/plan/makespan.ts";
import type { Plan } from "../src/plan/plan.ts";
import type { JobLimits } from "../src/plan/slots.ts";
import { workOf } from "../src/plan/work.ts";
import type { Report } from "./harness.ts";
import { Chance, FAMILIES, HiddenDurations, limitsOf, planOf } from "./makespan-graphs.ts";
import { median } from "./stats.ts";

const GRAPHS = 150;
const EARLIER_RUNS = 5;
const QUICK_GRAPHS = 30;
const POLICIES = ["FIFO", "longest chain", "without history", "Showrunner", "oracle's chains"] as const;
type Policy = (typeof POLICIES)[number];

export async function measure(report: Report, { quick }: { readonly quick: boolean }): Promise<void> {
  const all = perPolicy();
  report.note(row("makespan beside the oracle's: median, 95th percentile, mean", POLICIES));
  for (const family of Object.keys(FAMILIES)) {
    const own = perPolicy();
    for (let seed = 1; seed <= (quick ? QUICK_GRAPHS : GRAPHS); seed += 1) {
      const ratios = await oneGraph(family, new Chance(seed * 7919 + family.length));
      for (const policy of POLICIES) own[policy].push(ratios[policy]);
    }
    for (const policy of POLICIES) all[policy].push(...own[policy]);
    report.note(
      row(
        family,
        POLICIES.map((policy) => spread(own[policy])),
      ),
    );
  }
  const group = "Makespan in simulated time";
  const longer = (ratio: number) => 100 * (ratio - 1);
  for (const policy of POLICIES) {
    const [middle, rare, average] = [median(all[policy]), percentile(all[policy], 0.95), mean(all[policy])].map(longer);
    const isOurs = policy === "Showrunner";
    const unit = "% longer than the oracle's";
    report.figure(group, `${policy}: median`, unit, middle!, isOurs ? { most: 2 } : undefined);
    report.figure(group, `${policy}: 95th percentile`, unit, rare!, isOurs ? { most: 8 } : undefined);
    report.figure(group, `${policy}: mean`, unit, average!, isOurs ? { most: longer(mean(all.FIFO)) } : undefined);
  }
}

function perPolicy(): Record<Policy, number[]> {
  return Object.fromEntries(POLICIES.map((policy) => [policy, []])) as unknown as Record<Policy, number[]>;
}

async function oneGraph(family: string, chance: Chance): Promise<Record<Policy, number>> {
  const hidden = new HiddenDurations(chance);
  const past: Took[] = [];
  const models: string[] = [];
  for (let run = 0; run < EARLIER_RUNS; run += 1) {
    hidden.nextDay();
    for (const step of planOf(family, chance).steps) {
      const { settings, amount } = "model" in step ? workOf(step) : { settings: "", amount: null };
      if (!("model" in step) || amount === null) continue;
      past.unshift({ ms: hidden.draw(step), settings, amount });
      models.unshift(step.model);
    }
  }
  hidden.nextDay();
  const plan = planOf(family, chance);
  const limits = limitsOf(family, chance);
  const graph = planGraph(plan, limits);
  const durations = Float64Array.from(plan.steps, (step) => hidden.draw(step));
  const journal = (query: object, limit = 20) => {
    const rows = past
      .filter((_, index) => models[index] === (query as { readonly model: string }).model)
      .slice(0, limit);
    return rows.map((took): StoredResult => ({ ...ROW, took }));
  };
  const medians = new Map(
    [...new Set(models)].map((model) => [model, median(journal({ model }, 1000).map(({ took }) => took!.ms))]),
  );
  const guessed = new ExpectedDurations({ ...NOBODY, store: { results: async () => [] } });
  const byModel = plan.steps.map(
    (step) => ("model" in step ? medians.get(step.model) : undefined) ?? guessed.expectedMs(step),
  );
  const found = {
    FIFO: fifo(graph, durations),
    "longest chain": listSchedule(graph, durations, byRank(longestChain(plan, byModel))).ms,
    "without history": await simulated(plan, limits, durations, async () => []),
    Showrunner: await simulated(plan, limits, durations, async (query, limit) => journal(query, limit)),
  };
  const known = (ranks: ArrayLike<number>) => listSchedule(graph, durations, byRank(ranks)).ms;
  const chains = known(longestChain(plan, durations));
  const oracle = Math.min(found.FIFO, chains, known(stepRanks(graph, durations)), known(durations));
  return Object.fromEntries(
    POLICIES.map((policy) => [policy, (policy === "oracle's chains" ? chains : found[policy]) / oracle]),
  ) as Record<Policy, number>;
}

const ROW = { runId: "earlier", account: "a", step: "s", fingerprint: "f", model: "m", at: 0 } as const;
const NOBODY = { account: "a", families: builtInFamilies, now: () => 0 };

/** The ranks where nothing has to wait. */
function longestChain(plan: Plan, durations: ArrayLike<number>): Float64Array {
  const unlimited = Number.POSITIVE_INFINITY;
  return stepRanks(planGraph(plan, { total: unlimited, perModel: {}, perModality: { task: unlimited } }), durations);
}

/** Steps in the order in which they become ready. */
function fifo(graph: PlanGraph, durations: Float64Array): number {
  const readyAt = new Float64Array(durations.length);
  const startsAt = new Float64Array(durations.length);
  const order: StepOrder = (a, b) => readyAt[a]! - readyAt[b]! || a - b;
  const onEnd = (step: number) => {
    for (const next of graph.dependents[step]!)
      readyAt[next] = Math.max(readyAt[next]!, startsAt[step]! + durations[step]!);
    return false;
  };
  return listSchedule(graph, durations, order, { onEnd, onStart: noteIn(startsAt) }).ms;
}

/** A run that the engine's scheduler orders, told of each step that finishes as it would be of a committed event. */
async function simulated(
  plan: Plan,
  limits: JobLimits,
  hidden: Float64Array,
  results: (query: object, limit?: number) => Promise<readonly StoredResult[]>,
): Promise<number> {
  const state = newRun("simulated", { plan, limits } as RunPlanned, 0);
  state.activeTime.ms = Number.POSITIVE_INFINITY;
  const scheduler = await RunScheduler.of(state, new ExpectedDurations({ ...NOBODY, store: { results } }));
  const index = new Map(plan.steps.map(({ path }, position) => [path, position]));
  const position = new Int32Array(plan.steps.length);
  let order = scheduler.schedule(plan).order;
  const renumber = () => {
    for (const [at, { path }] of order.entries()) position[index.get(path)!] = at;
  };
  renumber();
  const startsAt = new Float64Array(plan.steps.length);
  const onEnd = (step: number) => {
    scheduler.learn([finish(state, plan, step, startsAt[step]!, startsAt[step]! + hidden[step]!)]);
    const next = scheduler.schedule(plan).order;
    if (next === order) return false;
    order = next;
    renumber();
    return true;
  };
  return listSchedule(planGraph(plan, limits), hidden, (a, b) => position[a]! - position[b]!, {
    onEnd,
    onStart: noteIn(startsAt),
  }).ms;
}

function noteIn(times: Float64Array) {
  return (step: number, atMs: number) => {
    times[step] = atMs;
  };
}

function finish(state: RunState, plan: Plan, step: number, from: number, to: number): StoredEvent {
  const { path, ...planned } = plan.steps[step]!;
  const done = state.steps[path]!;
  Object.assign(done, { status: "succeeded", startedAt: from, finishedAt: to });
  if (planned.kind === "job") {
    const job = { phase: "completed", submittedAt: from, completedAt: to, input: planned.input };
    done.attempts = [job as (typeof done.attempts)[number]];
  }
  return {
    runId: state.runId,
    seq: 1,
    at: to,
    version: 1,
    event: { type: "step.finished", step: path, status: "succeeded", reason: null },
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!;
}

function spread(values: readonly number[]): string {
  return [median(values), percentile(values, 0.95), mean(values)].map((value) => value.toFixed(3)).join(" ");
}

function row(name: string, cells: readonly string[]): string {
  return [name.padEnd(58), ...cells.map((cell) => cell.padStart(19))].join("");
}
