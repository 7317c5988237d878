import { criticalPath } from "./critical-path.ts";
import { createHeap, type Heap } from "./heap.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** Local functions at once, where the limits do not say. */
const TASKS_AT_ONCE = 4;

/** How many jobs and chats may run at once. */
export interface JobLimits {
  readonly total: number;
  readonly perModel: { readonly [model: string]: number };
  /** `image`, `video`, `audio` and `chat` for what the service does, `task` for local functions. */
  readonly perModality: { readonly [modality: string]: number };
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
  const running = createHeap<Running>((a, b) => a.endsAt < b.endsAt);
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
  readonly #groups = new Map<string, Heap<PlanStep>>();
  readonly #taken = new Map<string, number>();
  readonly #limits: JobLimits;
  readonly #rank: (step: PlanStep) => number;

  constructor(limits: JobLimits, rank: (step: PlanStep) => number) {
    this.#limits = limits;
    this.#rank = rank;
  }

  add(step: PlanStep): void {
    const name = "model" in step ? `${step.yields} ${step.model}` : step.kind;
    const group = this.#groups.get(name) ?? createHeap((a, b) => this.#rank(a) > this.#rank(b));
    this.#groups.set(name, group);
    group.push(step);
  }

  /** The most urgent step that the limits let start. */
  take(): PlanStep | null {
    let best: Heap<PlanStep> | null = null;
    for (const group of this.#groups.values()) {
      const step = group.peek();
      if (step === undefined || !this.#hasRoom(step)) continue;
      const known = best?.peek();
      if (known === undefined || this.#rank(step) > this.#rank(known)) best = group;
    }
    const step = best?.pop() ?? null;
    if (step !== null) this.#count(step, 1);
    return step;
  }

  release(step: PlanStep): void {
    this.#count(step, -1);
  }

  #hasRoom(step: PlanStep): boolean {
    return this.#slots(step).every(([slot, limit]) => (this.#taken.get(slot) ?? 0) < limit);
  }

  #count(step: PlanStep, by: number): void {
    for (const [slot] of this.#slots(step)) this.#taken.set(slot, (this.#taken.get(slot) ?? 0) + by);
  }

  #slots(step: PlanStep): readonly (readonly [slot: string, limit: number])[] {
    const { total, perModel, perModality } = this.#limits;
    if (step.kind === "task") return [["task", Math.max(1, perModality.task ?? TASKS_AT_ONCE)]];
    if (step.kind !== "job" && step.kind !== "chat") return [];
    const modality = step.kind === "chat" ? "chat" : step.yields === "voice" ? "audio" : step.yields;
    return [
      ["total", Math.max(1, total)],
      [`model ${step.model}`, Math.max(1, perModel[step.model] ?? Number.POSITIVE_INFINITY)],
      [`modality ${modality}`, Math.max(1, perModality[modality] ?? Number.POSITIVE_INFINITY)],
    ];
  }
}
