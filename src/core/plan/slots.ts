import { traitsOf } from "./kinds/index.ts";
import type { PlanStep } from "./plan.ts";

/** Maximum number of concurrent jobs, chats and local functions. */
export interface JobLimits {
  readonly total: number;
  /** Limits by model id, and by provider, such as `fal`. */
  readonly perModel: { readonly [model: string]: number };
  /** Limits by modality over all providers (`image`, `video`, `audio`, `chat`), and for local functions (`task`). */
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
