/**
 * How long runs take in simulated time beside an oracle's, by the order in which their steps start.
 *
 * - Graphs: seven families, 150 each, of 5 to 300 steps of six models and local functions, some models capped.
 * - Durations are hidden: each model has a start and a price in time for its work (seconds of film, pixels, outputs,
 *   characters) and for its better tier; all of a model is faster or slower in each run (25 %), each job for itself
 *   (5 to 30 %), and one job of a hundred takes three times as long.
 * - `Showrunner` is the order of the engine (`driveTools`): the longest chain first, by the mean of what each model took in
 *   five earlier runs of the family. `without history` goes by typical durations of kinds of media. `FIFO` takes steps as
 *   they become ready.
 * - The oracle knows every duration, and has the same list scheduler. Its makespan is the shortest of four orders: ranks
 *   that look ahead for limits, longest chain, FIFO, and longest step first. `oracle's chains` is the second of them alone.
 * - Slots and time are simulated (`listSchedule`), not those of `decide`, which would take minutes. That decisions start the
 *   same steps at the same times is a test (test/core/run/simulated-time.test.ts).
 *
 * Every figure is a makespan divided by the oracle's for the same graph, so that 1 is as good as knowing everything.
 */

import { driveTools } from "../../src/core/engine/drive/drive-tools.ts";
import { ExpectedDurations } from "../../src/core/engine/price/expected.ts";
import { builtInFamilies } from "../../src/core/families/index.ts";
import { newRun, type RunPlanned } from "../../src/core/journal/events.ts";
import type { StoredResult } from "../../src/core/journal/store.ts";
import type { Plan } from "../../src/core/plan/plan.ts";
import type { JobLimits } from "../../src/core/plan/slots.ts";
import type { Report } from "./harness.ts";
import { byRank, listSchedule, type PlanGraph, planGraph, type StepOrder, stepRanks } from "./list-schedule.ts";
import { Chance, FAMILIES, HiddenDurations, limitsOf, planOf } from "./makespan-graphs.ts";
import { median } from "./stats.ts";

const GRAPHS = 150;
const EARLIER_RUNS = 5;
const QUICK_GRAPHS = 30;
const POLICIES = ["FIFO", "without history", "Showrunner", "oracle's chains"] as const;
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
    report.figure(group, `${policy}: 95th percentile`, unit, rare!, isOurs ? { most: 25 } : undefined);
    report.figure(group, `${policy}: mean`, unit, average!, isOurs ? { most: longer(mean(all.FIFO)) } : undefined);
  }
}

function perPolicy(): Record<Policy, number[]> {
  return Object.fromEntries(POLICIES.map((policy) => [policy, []])) as unknown as Record<Policy, number[]>;
}

async function oneGraph(family: string, chance: Chance): Promise<Record<Policy, number>> {
  const hidden = new HiddenDurations(chance);
  const past: StoredResult[] = [];
  for (let run = 0; run < EARLIER_RUNS; run += 1) {
    hidden.nextDay();
    for (const step of planOf(family, chance).steps) {
      if ("model" in step) past.unshift({ ...ROW, model: step.model, tookMs: hidden.draw(step) });
    }
  }
  hidden.nextDay();
  const plan = planOf(family, chance);
  const limits = limitsOf(family, chance);
  const graph = planGraph(plan, limits);
  const durations = Float64Array.from(plan.steps, (step) => hidden.draw(step));
  const journal = (query: object, limit = 20) =>
    past.filter(({ model }) => model === (query as { readonly model: string }).model).slice(0, limit);
  const found = {
    FIFO: fifo(graph, durations),
    "without history": await ordered(plan, limits, durations, async () => []),
    Showrunner: await ordered(plan, limits, durations, async (query, limit) => journal(query, limit)),
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

/** A run in the order of the engine. */
async function ordered(
  plan: Plan,
  limits: JobLimits,
  hidden: Float64Array,
  results: (query: object, limit?: number) => Promise<readonly StoredResult[]>,
): Promise<number> {
  const state = newRun("simulated", { plan, limits } as RunPlanned, 0);
  const tools = await driveTools(state, new ExpectedDurations({ ...NOBODY, store: { results } }));
  const index = new Map(plan.steps.map(({ path }, position) => [path, position]));
  const position = new Int32Array(plan.steps.length);
  for (const [at, { path }] of tools.schedule(plan).order.entries()) position[index.get(path)!] = at;
  return listSchedule(planGraph(plan, limits), hidden, (a, b) => position[a]! - position[b]!).ms;
}

function noteIn(times: Float64Array) {
  return (step: number, atMs: number) => {
    times[step] = atMs;
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
