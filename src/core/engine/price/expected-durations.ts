import type { Families } from "../../families/index.ts";
import type { JournalStore } from "../../journal/store.ts";
import { traitsOf } from "../../plan/index.ts";
import type { PlanStep } from "../../plan/plan.ts";

/** Durations that a model is judged by, the newest. */
const REMEMBERED = 60;
/** The journal is asked again for a model after so long, milliseconds. */
const LOADED_FOR_MS = 60_000;

export interface DurationParts {
  readonly store: Pick<JournalStore, "results">;
  /** Whose jobs count. */
  readonly account: string;
  readonly families: Families;
  readonly now: () => number;
}

/** How long steps are expected to take: the mean of what their model took, else what is typical of its family, or its kind. */
export class ExpectedDurations {
  readonly #parts: DurationParts;
  readonly #known = new Map<string, { readonly meanMs: number; readonly loadedAt: number }>();

  constructor(parts: DurationParts) {
    this.#parts = parts;
  }

  /** Reads what the journal knows of the models of these steps. */
  async load(steps: readonly PlanStep[]): Promise<void> {
    const { store, account, now } = this.#parts;
    for (const model of new Set(steps.flatMap((step) => ("model" in step ? [step.model] : [])))) {
      const loadedAt = now();
      const known = this.#known.get(model);
      if (known !== undefined && loadedAt < known.loadedAt + LOADED_FOR_MS) continue;
      const took = (await store.results({ account, model }, REMEMBERED)).flatMap(({ tookMs }) => tookMs ?? []);
      // A model that never ran is asked for again: its first job may end at any moment.
      if (took.length === 0) continue;
      this.#known.set(model, { meanMs: took.reduce((sum, ms) => sum + ms, 0) / took.length, loadedAt });
    }
  }

  expectedMs(step: PlanStep): number {
    const known = this.knownMs(step);
    if (known !== null) return known;
    return ("model" in step ? this.#parts.families.of(step.model)?.typicalMs : null) ?? traitsOf(step).typicalMs;
  }

  /** Null before its model has finished a job once. */
  knownMs(step: PlanStep): number | null {
    return "model" in step ? (this.#known.get(step.model)?.meanMs ?? null) : null;
  }
}
