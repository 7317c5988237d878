import TinyQueue from "tinyqueue";
import type { Plan, PlanStep } from "./plan.ts";
import { type JobLimits, Slots } from "./slots.ts";

export interface CriticalPath {
  /** Step paths of the longest chain, first step first. */
  readonly path: readonly string[];
  readonly lengthMs: number;
  /** By step path: time from the start of the step to the end of the run, if nothing had to wait. Higher goes first. */
  readonly rank: ReadonlyMap<string, number>;
}

/** The chain of steps that decides how long the run takes when nothing has to wait for a slot. */
export function criticalPath(plan: Plan, durationMs: (step: PlanStep) => number): CriticalPath {
  const rank = new Map<string, number>();
  const longestAfter = new Map<string, { readonly step: string; readonly ms: number }>();
  let first: { readonly step: string; readonly ms: number } | null = null;
  // Every step comes after those it needs, so backwards every rank is final when it is read.
  for (const step of plan.steps.toReversed()) {
    const ms = durationMs(step) + (longestAfter.get(step.path)?.ms ?? 0);
    rank.set(step.path, ms);
    for (const needed of step.needs) {
      const known = longestAfter.get(needed);
      if (known === undefined || known.ms < ms) longestAfter.set(needed, { step: step.path, ms });
    }
    if (first === null || first.ms <= ms) first = { step: step.path, ms };
  }
  const path: string[] = [];
  for (let at = first?.step; at !== undefined; at = longestAfter.get(at)?.step) path.push(at);
  return { path, lengthMs: first?.ms ?? 0, rank };
}

type Durations = (step: PlanStep) => number;

interface Running {
  readonly step: PlanStep;
  readonly endsAt: number;
}

/**
 * How long the run takes, in milliseconds, when every step takes `durationMs`, jobs start as the limits allow and the
 * step with the most left behind it goes first. `onStart` is told when each step starts, in milliseconds.
 */
export function makespan(
  plan: Plan,
  durationMs: Durations,
  limits: JobLimits,
  onStart?: (step: PlanStep, atMs: number) => void,
  /** Steps that hold their slots already. Default none. */
  isRunning: (step: PlanStep) => boolean = () => false,
): number {
  const { rank } = criticalPath(plan, durationMs);
  const ready = new Ready(limits, (step) => (isRunning(step) ? Number.POSITIVE_INFINITY : (rank.get(step.path) ?? 0)));
  const running = new TinyQueue<Running>([], (a, b) => a.endsAt - b.endsAt);
  const waitsFor = new Map(plan.steps.map((step) => [step.path, step.needs.length]));
  const dependents = dependentsOf(plan);
  for (const step of plan.steps) if (step.needs.length === 0) ready.add(step);
  let now = 0;
  for (;;) {
    for (let step = ready.take(); step !== null; step = ready.take()) {
      onStart?.(step, now);
      running.push({ step, endsAt: now + durationMs(step) });
    }
    const next = running.pop();
    if (next === undefined) return now;
    now = next.endsAt;
    ready.release(next.step);
    for (const dependent of dependents.get(next.step.path) ?? []) {
      const left = (waitsFor.get(dependent.path) ?? 0) - 1;
      waitsFor.set(dependent.path, left);
      if (left === 0) ready.add(dependent);
    }
  }
}

/** Steps by the step that they need. */
export function dependentsOf(plan: Plan): ReadonlyMap<string, readonly PlanStep[]> {
  const found = new Map<string, PlanStep[]>();
  for (const step of plan.steps) {
    for (const needed of step.needs) {
      const list = found.get(needed);
      if (list === undefined) found.set(needed, [step]);
      else list.push(step);
    }
  }
  return found;
}

/** Steps that may start, by the limits that they fall under; those of one group only compete with each other. */
class Ready {
  readonly #groups = new Map<string, TinyQueue<PlanStep>>();
  readonly #slots: Slots;
  readonly #rank: (step: PlanStep) => number;

  constructor(limits: JobLimits, rank: (step: PlanStep) => number) {
    this.#slots = new Slots(limits);
    this.#rank = rank;
  }

  add(step: PlanStep): void {
    const name = "model" in step ? `${step.yields} ${step.model}` : step.kind;
    const group =
      this.#groups.get(name) ?? new TinyQueue<PlanStep>([], (a, b) => (this.#rank(a) > this.#rank(b) ? -1 : 1));
    this.#groups.set(name, group);
    group.push(step);
  }

  /** The most urgent step that the limits let start. */
  take(): PlanStep | null {
    let best: TinyQueue<PlanStep> | null = null;
    for (const group of this.#groups.values()) {
      const step = group.peek();
      if (step === undefined || !this.#slots.free(step)) continue;
      const known = best?.peek();
      if (known === undefined || this.#rank(step) > this.#rank(known)) best = group;
    }
    const step = best?.pop() ?? null;
    if (step !== null) this.#slots.take(step);
    return step;
  }

  release(step: PlanStep): void {
    this.#slots.release(step);
  }
}
