import type { PlanDiff } from "../plan/index.ts";
import type { Problem } from "../plan/plan.ts";
import type { StepPrice } from "./quote.ts";

/** Steps of a run that are to be made again, and what that costs. Finding out spends nothing. */
export interface Remake {
  readonly runId: string;
  /** Paths of the steps that would be made again, with all that use them, in plan order. */
  readonly stale: readonly string[];
  /** What stands in the way, all of it at once; with problems it cannot be gone on with. */
  readonly problems: readonly Problem[];
  /** Prices of the stale steps. */
  readonly prices: readonly StepPrice[];
  /** Sum of these prices, micro-dollars. `max` is null when a step has neither a price nor a maximum. */
  readonly totalMicros: { readonly min: number; readonly max: number | null };
  /** What the run has spent and reserved so far, micro-dollars; the price comes on top of it. */
  readonly committedMicros: number;
  /** The run's budget, micro-dollars; null without one. */
  readonly budgetMicros: number | null;
  /** Stale steps whose paid jobs are at the service now: they are seen through before anything is made again. */
  readonly seenThroughFirst: readonly string[];
}

/** What `resume` with `rerun` would make again. */
export type RerunQuote = Remake;

/** How the code's plan differs from the plan that the run began with. */
export interface Drift extends PlanDiff, Remake {
  /** Paths of the steps that would be made again, with all that use them, in plan order. */
  readonly stale: readonly string[];
  /** True when the code still asks for just the same. */
  readonly isSame: boolean;
}
