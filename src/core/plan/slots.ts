import { traitsOf } from "./kinds/index.ts";
import type { PlanStep } from "./plan.ts";

/** How many jobs and chats may run at once. */
export interface JobLimits {
  readonly total: number;
  /** Providers too, such as `fal`. */
  readonly perModel: { readonly [model: string]: number };
  /** `image`, `video`, `audio` and `chat`, wherever they are made, `task` for local functions. */
  readonly perModality: { readonly [modality: string]: number };
}

/** Local functions at once, where the limits do not say. */
const TASKS_AT_ONCE = 4;

/**
 * Which steps may run at once: jobs and chats in all, per model and per modality; local functions counted apart. Forecast
 * and scheduler both keep to it.
 */
export class Slots {
  readonly #limits: JobLimits;
  readonly #used: Map<string, number>;
  /** Steps of one model and modality take the same slots. */
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

/** The slots that a step takes while it runs, with how many there are of each. */
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
