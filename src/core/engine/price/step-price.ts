import type { PriceBasis } from "../../journal/events.ts";

/** The price of one step. */
export interface StepPrice {
  readonly step: string;
  readonly model: string | null;
  /** Micro-dollars; null when the service cannot say. */
  readonly costMicros: number | null;
  /**
   * `quoted`: by the service for just this input. `provisional`: its media do not exist yet, quoted with stand-ins and
   * asked again before the submit. `unquotable`: runs only under a maximum. `free`: an upload. `reused`: an earlier run
   * made the very same.
   */
  readonly basis: PriceBasis | "free" | "reused";
  /** The most the step may cost, where it or the run sets one. */
  readonly maxCostMicros: number | null;
  /** What it comes to at most, micro-dollars: of its longest input, or its maximum. Null: open-ended. */
  readonly mostMicros: number | null;
  /** Why there is no price, or what media that do not exist yet must fulfil. */
  readonly reason: string | null;
  /** Steps that may make media which its model refuses: looked at before what only this step needs is bought. */
  readonly conditionalOn?: readonly string[];
  /** The option that it is a second choice to: made, and paid for, only once that one is out. */
  readonly insteadOf?: string;
  /** With reuse: why the step is not reused from an earlier run. Absent where it is, or nothing is to be said. */
  readonly anew?: string;
}

/** Micro-dollars. `max` is null when something is open-ended: see `openSteps`. */
export interface Total {
  readonly min: number;
  readonly max: number | null;
}
