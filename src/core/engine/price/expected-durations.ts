import type { Families } from "../../families/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep } from "../../plan/plan.ts";

const REMEMBERED = 60;
const LOADED_FOR_MS = 60_000;

export interface DurationParts {
  readonly store: Pick<JournalStore, "results">;
  readonly account: string;
  readonly families: Families;
  readonly now: () => number;
}

/** Estimates how long a step runs: the mean of its model's past jobs, or a typical value for its family or kind. */
export class ExpectedDurations {
  readonly #parts: DurationParts;
  readonly #known = new Map<string, { readonly meanMs: number; readonly loadedAt: number }>();

  constructor(parts: DurationParts) {
    this.#parts = parts;
  }

  async load(steps: readonly PlanStep[]): Promise<void> {
    const { store, account, now } = this.#parts;
    for (const model of new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])))) {
      const loadedAt = now();
      const known = this.#known.get(model);
      if (known !== undefined && loadedAt < known.loadedAt + LOADED_FOR_MS) continue;
      const took = (await store.results({ account, model }, REMEMBERED)).flatMap(({ tookMs }) => tookMs ?? []);
      // Do not cache a model without finished jobs, because its first job may end at any time.
      if (took.length === 0) continue;
      this.#known.set(model, { meanMs: took.reduce((sum, ms) => sum + ms, 0) / took.length, loadedAt });
    }
  }

  expectedMs(step: PlanStep): number {
    const known = this.knownMs(step);
    if (known !== null) return known;
    return ("model" in step ? this.#parts.families.of(step.model)?.typicalMs : null) ?? traitsOf(step).typicalMs;
  }

  knownMs(step: PlanStep): number | null {
    return "model" in step ? (this.#known.get(step.model)?.meanMs ?? null) : null;
  }
}
