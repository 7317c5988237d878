import { drivenSince } from "../../journal/active-time.ts";
import type { StoredEvent } from "../../journal/events.ts";
import { isStepFinal, lastAttempt, type RunState } from "../../journal/state.ts";
import type { Progress } from "../../journal/store.ts";
import { LongWork } from "../../long-work.ts";
import { type PlanGraph, planGraph } from "../../plan/list-schedule.ts";
import { byRank, stepRanks } from "../../plan/makespan.ts";
import type { Plan, PlanStep } from "../../plan/plan.ts";
import { stepNamed } from "../../plan/plan-index.ts";
import { avoidedCost } from "../../run/avoided-cost.ts";
import { tookOf } from "../../run/cache-lookup.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";

/** Expectations have to change by so much beside each other before the steps are ranked anew. */
const TELLING = 1.2;
/** A large run is ranked anew once this part of what was left has finished: all of it together costs a few rankings. */
const RANKED_AGAIN = 1 / 8;
const ALWAYS_RANKED = 256;

/** Which steps go first, as far as is known now: another object as soon as that changes. */
export interface Schedule {
  /** Every step of the plan, the most urgent first. */
  readonly order: readonly PlanStep[];
  /** Priority of a step's requests. */
  readonly priority: (step: string) => number;
}

/** Ranks the steps of a run, and ranks them anew as it shows how long they take. */
export class RunScheduler {
  readonly #state: RunState;
  readonly #durations: ExpectedDurations;
  /** Since when the run was driven without a gap. */
  readonly #since: number;
  #ranked: RankedPlan | null = null;

  private constructor(state: RunState, durations: ExpectedDurations) {
    this.#state = state;
    this.#durations = durations;
    this.#since = drivenSince(state);
  }

  static async of(state: RunState, durations: ExpectedDurations): Promise<RunScheduler> {
    const { plan } = state.planned;
    await durations.load(plan.steps);
    const scheduler = new RunScheduler(state, durations);
    const work = new LongWork();
    const ranked = new RankedPlan(state, plan, durations);
    await work.pause(plan.steps.length);
    ranked.current();
    await work.pause(plan.steps.length);
    scheduler.#ranked = ranked;
    return scheduler;
  }

  schedule(plan: Plan): Schedule {
    if (this.#ranked?.plan !== plan) this.#ranked = new RankedPlan(this.#state, plan, this.#durations);
    return this.#ranked.current();
  }

  /** Takes in events once they are in the journal. */
  learn(events: readonly StoredEvent[]): void {
    for (const { event } of events) {
      if (event.type !== "step.finished") continue;
      this.#ranked?.finished(event.step);
      const step = stepNamed(this.#state.planned.plan, event.step);
      const took = step === undefined ? null : tookOf(this.#state, step, this.#since);
      if (took !== null) this.#durations.learn(step!, took);
    }
  }

  /** Takes in what the service expects of a job. */
  estimate({ step: path, estimatedCompletionAt }: Progress): void {
    const step = stepNamed(this.#state.planned.plan, path);
    const submittedAt = lastAttempt(this.#state.steps[path]!)?.submittedAt ?? null;
    if (step === undefined || submittedAt === null || estimatedCompletionAt === null) return;
    if (estimatedCompletionAt > submittedAt) this.#durations.estimate(step, estimatedCompletionAt - submittedAt);
  }
}

/** The steps of one plan that have not ended, ranked by what was known last, and after them the others. */
class RankedPlan {
  readonly plan: Plan;
  readonly #ended: readonly PlanStep[];
  readonly #durations: ExpectedDurations;
  readonly #graph: PlanGraph;
  /** One step for all that are expected to take as long, and which each is like. */
  readonly #samples: readonly PlanStep[];
  readonly #sampleOf: readonly number[];
  /** Steps that are still to be done, by what they are like. */
  readonly #open: number[];
  readonly #isDone: Uint8Array;
  /** What the failure of each step would avoid; NaN until somebody asks. */
  readonly #avoided: Float64Array;
  readonly #avoidedBy: (step: PlanStep) => number;
  #left: number;
  #leftWhenRanked = 0;
  #rankedMs: readonly number[] = [];
  #version = -1;
  #schedule: Schedule | null = null;

  constructor(state: RunState, plan: Plan, durations: ExpectedDurations) {
    this.plan = plan;
    this.#durations = durations;
    const hasEnded = ({ path }: PlanStep) => isStepFinal(state.steps[path]!.status);
    this.#ended = plan.steps.filter(hasEnded);
    const open = plan.steps.filter((step) => !hasEnded(step));
    this.#graph = planGraph({ ...plan, steps: open }, state.planned.limits);
    this.#avoided = new Float64Array(open.length).fill(Number.NaN);
    this.#avoidedBy = avoidedCost(state, plan);
    const samples = new Map<string, number>();
    const steps: PlanStep[] = [];
    this.#sampleOf = open.map((step) => {
      const text = durations.alike(step);
      const known = samples.get(text);
      if (known !== undefined) return known;
      samples.set(text, steps.length);
      return steps.push(step) - 1;
    });
    this.#samples = steps;
    this.#open = steps.map(() => 0);
    this.#isDone = new Uint8Array(open.length);
    this.#left = open.length;
    for (const sample of this.#sampleOf) this.#open[sample]!++;
  }

  finished(path: string): void {
    const step = this.#graph.position.get(path);
    if (step === undefined || this.#isDone[step] === 1) return;
    this.#isDone[step] = 1;
    this.#open[this.#sampleOf[step]!]!--;
    this.#left--;
  }

  current(): Schedule {
    // Steps that are all alike keep their order, however long they take.
    const isSettled = this.#samples.length <= 1 || this.#version === this.#durations.version;
    if (this.#schedule !== null && isSettled) return this.#schedule;
    if (this.#schedule !== null && this.#leftWhenRanked - this.#left < this.#patience()) return this.#schedule;
    this.#version = this.#durations.version;
    const expectedMs = this.#samples.map((step) => this.#durations.expectedMs(step));
    if (this.#schedule !== null && !this.#isTelling(expectedMs)) return this.#schedule;
    this.#rankedMs = expectedMs;
    this.#leftWhenRanked = this.#left;
    this.#schedule = this.#rank(expectedMs);
    return this.#schedule;
  }

  /** How many steps finish before the others are ranked anew. */
  #patience(): number {
    return this.#left <= ALWAYS_RANKED ? 0 : this.#left * RANKED_AGAIN;
  }

  /** Whether some steps that are left take longer now, beside others, than they did when they were ranked. */
  #isTelling(expectedMs: readonly number[]): boolean {
    let [least, most] = [Number.POSITIVE_INFINITY, 0];
    for (const [sample, ms] of expectedMs.entries()) {
      if (this.#open[sample] === 0 || ms === 0) continue;
      const ratio = ms / this.#rankedMs[sample]!;
      least = Math.min(least, ratio);
      most = Math.max(most, ratio);
    }
    return most > TELLING * least;
  }

  /** Among equals the step whose failure would avoid the most cost. */
  #rank(expectedMs: readonly number[]): Schedule {
    const { steps } = this.#graph;
    const durations = Float64Array.from(this.#sampleOf, (sample, step) =>
      this.#isDone[step] ? 0 : expectedMs[sample]!,
    );
    const avoided = (step: number) => {
      if (Number.isNaN(this.#avoided[step])) this.#avoided[step] = this.#avoidedBy(steps[step]!);
      return this.#avoided[step]!;
    };
    const ties = (a: number, b: number) => avoided(b) - avoided(a) || a - b;
    const ranks = stepRanks(this.#graph, durations, ties);
    const order = [...steps.keys()].sort(byRank(ranks, ties)).map((step) => steps[step]!);
    const rankOf = (path: string) => ranks[this.#graph.position.get(path) ?? -1] ?? 0;
    const highest = Math.max(1, rankOf(order[0]?.path ?? ""));
    const priority = (path: string) => Math.round((50 * rankOf(path)) / highest);
    return { order: [...order, ...this.#ended], priority };
  }
}
