import type { FieldChange, PlanDiff } from "../plan/index.ts";
import type { Plan, Problem } from "../plan/plan.ts";
import type { StepPrice } from "./quote.ts";

/** A step of the new plan that the earlier run cannot stand for. */
export interface StaleStep {
  readonly path: string;
  /**
   * `changed`: asks for something else. `new`: was not there. `uses`: takes in a stale step. `unmade`: the same, but the
   * earlier run did not make it.
   */
  readonly because: "changed" | "new" | "uses" | "unmade";
  /** In words: `voice changed: input.name was "a", is "b"`. */
  readonly why: string;
  /** What is asked for otherwise; empty unless `changed`. */
  readonly fields: readonly FieldChange[];
}

/** A pipeline and an input held against a run that was made before. Making one spends nothing. */
export interface Comparison {
  /** False when the plan has problems: then nothing was compared or priced. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** The run that the plan was held against. */
  readonly against: string;
  readonly plan: Plan | null;
  readonly diff: PlanDiff;
  /** In plan order. */
  readonly stale: readonly StaleStep[];
  /** Prices of the stale steps. */
  readonly prices: readonly StepPrice[];
  /** Their sum, micro-dollars. `max` is null when a step has neither a price nor a maximum. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** One line: `voice changed: 3 of 14 steps stale, 2.10 USD`. */
  readonly summary: string;
}
