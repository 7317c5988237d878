import TinyQueue from "tinyqueue";
import type { Plan, PlanStep } from "../../src/core/plan/plan.ts";
import { type JobLimits, slotsOf } from "../../src/core/plan/slots.ts";

/** A plan by numbers, for what walks it often: a step is its position in the plan. */
export interface PlanGraph {
  readonly steps: readonly PlanStep[];
  /** By path. */
  readonly position: ReadonlyMap<string, number>;
  readonly needs: readonly (readonly number[])[];
  readonly dependents: readonly (readonly number[])[];
  /** Steps of one group take the same slots. */
  readonly groupOf: readonly number[];
  readonly slotsOfGroup: readonly (readonly number[])[];
  readonly slotLimits: readonly number[];
}

export function planGraph({ steps }: Plan, limits: JobLimits): PlanGraph {
  const position = new Map(steps.map(({ path }, index) => [path, index]));
  const needs = steps.map((step) =>
    step.needs.map((path) => position.get(path)).filter((index) => index !== undefined),
  );
  const growing = steps.map((): number[] => []);
  for (const [index, needed] of needs.entries()) for (const one of needed) growing[one]!.push(index);
  // A list that grew has room for many more, and a run holds its graph.
  const dependents = growing.map((list) => list.slice());
  const slots = new Map<string, number>();
  const slotLimits: number[] = [];
  const groups = new Map<string, number>();
  const slotsOfGroup: (readonly number[])[] = [];
  const groupOf = steps.map((step) => {
    const taken = slotsOf(step, limits);
    const name = taken.map(([slot]) => slot).join("\n");
    const known = groups.get(name);
    if (known !== undefined) return known;
    for (const [slot, limit] of taken) {
      if (slots.has(slot)) continue;
      slots.set(slot, slots.size);
      slotLimits.push(limit);
    }
    groups.set(name, groups.size);
    slotsOfGroup.push(taken.map(([slot]) => slots.get(slot)!));
    return groups.size - 1;
  });
  return { steps, position, needs, dependents, groupOf, slotsOfGroup, slotLimits };
}

/** Negative where step `a` goes before step `b`. */
export type StepOrder = (a: number, b: number) => number;

export interface ListSchedule {
  /** From the start of the first step to the end of the last, milliseconds. */
  readonly ms: number;
  readonly endsAt: Float64Array;
}

export interface ListScheduling {
  /** From the last step to the first: each ends, in this direction, as late as the ones before it allow. */
  readonly backwards?: boolean;
  /** Steps that hold their slots already. */
  readonly isRunning?: (step: number) => boolean;
  readonly onStart?: (step: number, atMs: number) => void;
  /** True: the order of the steps is another one now. */
  readonly onEnd?: (step: number) => boolean;
}

/**
 * Runs the graph in simulated time: whenever a slot is free, the step that goes first of those that may start takes it. A
 * step of no duration takes none.
 */
export function listSchedule(
  graph: PlanGraph,
  durations: ArrayLike<number>,
  order: StepOrder,
  { backwards = false, isRunning = () => false, onStart, onEnd }: ListScheduling = {},
): ListSchedule {
  const [before, after] = backwards ? [graph.dependents, graph.needs] : [graph.needs, graph.dependents];
  const waitsFor = Int32Array.from(before, ({ length }) => length);
  const endsAt = new Float64Array(graph.steps.length);
  const running = new TinyQueue<number>([], (a, b) => endsAt[a]! - endsAt[b]!);
  const ready = new ReadySteps(graph, order);
  let now = 0;
  const start = (step: number) => {
    onStart?.(step, now);
    endsAt[step] = now + durations[step]!;
    running.push(step);
  };
  const mayStart = (step: number) => {
    if (durations[step] === 0) return start(step);
    if (!isRunning(step)) return ready.add(step);
    ready.hold(step);
    start(step);
  };
  for (const step of graph.steps.keys()) if (waitsFor[step] === 0) mayStart(step);
  for (;;) {
    for (let step = ready.take(); step !== null; step = ready.take()) start(step);
    if (running.length === 0) return { ms: now, endsAt };
    now = endsAt[running.peek()!]!;
    let isReordered = false;
    // Those that end together free their slots together.
    while (running.length > 0 && endsAt[running.peek()!] === now) {
      const step = running.pop()!;
      if (durations[step] !== 0) ready.release(step);
      if (onEnd?.(step) === true) isReordered = true;
      for (const dependent of after[step]!) if (--waitsFor[dependent]! === 0) mayStart(dependent);
    }
    if (isReordered) ready.reorder();
  }
}

/** Steps that wait for nothing but a slot; those of one group only compete with each other. */
class ReadySteps {
  readonly #graph: PlanGraph;
  readonly #order: StepOrder;
  readonly #used: Int32Array;
  readonly #groups: TinyQueue<number>[];

  constructor(graph: PlanGraph, order: StepOrder) {
    this.#graph = graph;
    this.#order = order;
    this.#used = new Int32Array(graph.slotLimits.length);
    this.#groups = graph.slotsOfGroup.map(() => new TinyQueue<number>([], order));
  }

  add(step: number): void {
    this.#groups[this.#graph.groupOf[step]!]!.push(step);
  }

  /** The first step that the limits let start. */
  take(): number | null {
    let best: number | null = null;
    for (let group = 0; group < this.#groups.length; group++) {
      const step = this.#groups[group]!.peek();
      if (step === undefined || !this.#isFree(group)) continue;
      if (best === null || this.#order(step, best) < 0) best = step;
    }
    if (best === null) return null;
    this.#groups[this.#graph.groupOf[best]!]!.pop();
    this.hold(best);
    return best;
  }

  hold(step: number): void {
    for (const slot of this.#slots(step)) this.#used[slot]!++;
  }

  release(step: number): void {
    for (const slot of this.#slots(step)) this.#used[slot]!--;
  }

  reorder(): void {
    for (const [group, { data }] of this.#groups.entries()) this.#groups[group] = new TinyQueue(data, this.#order);
  }

  #slots(step: number): readonly number[] {
    return this.#graph.slotsOfGroup[this.#graph.groupOf[step]!]!;
  }

  #isFree(group: number): boolean {
    const { slotsOfGroup, slotLimits } = this.#graph;
    for (const slot of slotsOfGroup[group]!) if (this.#used[slot]! >= slotLimits[slot]!) return false;
    return true;
  }
}

/**
 * How long it is from the start of each step to the end of the run, milliseconds: whoever has more goes first. Looks
 * ahead for limits: the run is scheduled forwards, the longest chain first, and then backwards in the order in which its
 * steps ended, so that a step which leads to a crowded model ranks higher than its chain is long. `ties`: which of two
 * equal steps goes first.
 */
export function stepRanks(graph: PlanGraph, durations: ArrayLike<number>, ties: StepOrder = inPlanOrder): Float64Array {
  const upward = new Float64Array(graph.steps.length);
  let longest = 0;
  for (let step = graph.steps.length - 1; step >= 0; step--) {
    let after = 0;
    for (const dependent of graph.dependents[step]!) after = Math.max(after, upward[dependent]!);
    upward[step] = durations[step]! + after;
    longest = Math.max(longest, upward[step]!);
  }
  const { ms, endsAt } = listSchedule(graph, durations, byRank(upward, ties));
  // No step has to wait for long: there is no better order.
  if (ms <= longest) return upward;
  const lastFirst: StepOrder = (a, b) => endsAt[b]! - endsAt[a]! || ties(b, a);
  return listSchedule(graph, durations, lastFirst, { backwards: true }).endsAt;
}

/** The higher rank first. */
export function byRank(ranks: ArrayLike<number>, ties: StepOrder = inPlanOrder): StepOrder {
  return (a, b) => ranks[b]! - ranks[a]! || ties(a, b);
}

function inPlanOrder(a: number, b: number): number {
  return a - b;
}
