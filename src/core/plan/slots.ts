import { type Plan, type PlanStep, traitsOf } from "./plan.ts";

/** Maximum number of concurrent jobs, chats and local functions. */
export interface JobLimits {
  readonly total: number;
  /** Limits keyed by model id or by provider, such as `fal`. */
  readonly perModel: { readonly [model: string]: number };
  /**
   * Limits for each modality (`image`, `video`, `audio`, `chat`) across all providers, and for local functions
   * (`task`).
   */
  readonly perModality: { readonly [modality: string]: number };
}

const TASKS_AT_ONCE = 4;

export class Slots {
  readonly #limits: JobLimits;
  readonly #used: Map<string, number>;
  readonly #known: Map<string, ReturnType<typeof slotsOf>>;

  constructor(
    limits: JobLimits,
    used: ReadonlyMap<string, number> = new Map(),
    known = new Map<string, ReturnType<typeof slotsOf>>(),
  ) {
    this.#limits = limits;
    this.#used = new Map(used);
    this.#known = known;
  }

  copy(): Slots {
    return new Slots(this.#limits, this.#used, this.#known);
  }

  free(step: PlanStep): boolean {
    return this.#slotsOf(step).every(([slot, limit]) => (this.#used.get(slot) ?? 0) < limit);
  }

  take(step: PlanStep): void {
    this.#count(step, 1);
  }

  release(step: PlanStep): void {
    this.#count(step, -1);
  }

  #count(step: PlanStep, by: number): void {
    for (const { 0: slot } of this.#slotsOf(step)) this.#used.set(slot, (this.#used.get(slot) ?? 0) + by);
  }

  #slotsOf(step: PlanStep): ReturnType<typeof slotsOf> {
    const { modality } = traitsOf(step);
    const name = "model" in step ? `${modality} ${step.model}` : `${modality}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const slots = slotsOf(step, this.#limits);
    this.#known.set(name, slots);
    return slots;
  }
}

export function slotsOf(
  step: PlanStep,
  { total, perModel, perModality }: JobLimits,
): readonly (readonly [slot: string, limit: number])[] {
  const { modality } = traitsOf(step);
  if (modality === null) return [];
  if (!("model" in step)) return [[modality, perModality[modality] ?? TASKS_AT_ONCE]];
  return [
    ["total", total],
    [`model ${step.model}`, perModel[step.model] ?? Number.POSITIVE_INFINITY],
    [`modality ${modality}`, perModality[modality] ?? Number.POSITIVE_INFINITY],
    ...("provider" in step
      ? [[`provider ${step.provider}`, perModel[step.provider] ?? Number.POSITIVE_INFINITY] as const]
      : []),
  ];
}

export type DurationMs = (step: PlanStep) => number;

interface CriticalPath {
  readonly path: readonly string[];
  readonly lengthMs: number;
}

export function criticalPath(plan: Plan, durationMs: DurationMs): CriticalPath {
  const lengths = chainLengths(plan, durationMs);
  const users = dependentsOf(plan);
  const longestOf = (steps: readonly PlanStep[]) =>
    steps.reduce<PlanStep | undefined>((longest, step) => {
      return longest === undefined || lengths.get(step.path)! > lengths.get(longest.path)! ? step : longest;
    }, undefined);
  const first = longestOf(plan.steps);
  const path: string[] = [];
  for (let step = first; step !== undefined; step = longestOf(users.get(step.path) ?? [])) path.push(step.path);
  return { path, lengthMs: first === undefined ? 0 : lengths.get(first.path)! };
}

/** Maps each step's path to the duration, in milliseconds, of the longest chain of steps that begins with it. */
export function chainLengths({ steps }: Plan, durationMs: DurationMs): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  const after = new Map<string, number>();
  // Users come after the steps that they need, so in reverse order each sum is final when it is read.
  for (const step of steps.toReversed()) {
    const ms = durationMs(step) + (after.get(step.path) ?? 0);
    lengths.set(step.path, ms);
    for (const needed of step.needs) after.set(needed, Math.max(ms, after.get(needed) ?? 0));
  }
  return lengths;
}

export function expectedSpanMs(plan: Plan, durationMs: DurationMs, limits: JobLimits): number {
  const busyMs = new Map<string, number>();
  for (const step of plan.steps) {
    const ms = durationMs(step);
    for (const [slot, limit] of slotsOf(step, limits)) busyMs.set(slot, (busyMs.get(slot) ?? 0) + ms / limit);
  }
  let span = criticalPath(plan, durationMs).lengthMs;
  for (const ms of busyMs.values()) span = Math.max(span, ms);
  return Math.ceil(span);
}

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
