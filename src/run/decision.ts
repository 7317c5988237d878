import type { RunEvent } from "../journal/events.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { Command } from "./command.ts";
import type { Headroom } from "./headroom.ts";

/** What a decision may look at beside the state: the instant, and what this engine is doing right now. */
export interface DecideContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Steps by scheduling priority, the critical path first. */
  readonly order: readonly PlanStep[];
  /** Ids of commands under way. */
  readonly active: ReadonlySet<string>;
  /** Commands that may be tried again only after an instant (epoch ms), or never again in this drive (Infinity). */
  readonly notBefore: ReadonlyMap<string, number>;
  /** Submits whose every send in this drive certainly never left this machine. */
  readonly unsent?: ReadonlySet<string>;
  /** How far the service's clock is ahead of this machine's, milliseconds. */
  readonly clockOffsetMs?: number;
  /** An unanswered submit older than this is looked up by a person, not sent again. */
  readonly idempotencyWindowMs: number;
  /** What other runs and the wallet leave for this one, where that is known to be short. */
  readonly headrooms?: readonly Headroom[];
}

export interface Decision {
  readonly events: readonly RunEvent[];
  /** To be started after the events are durable. */
  readonly commands: readonly Command[];
  /** When to decide again although nothing happened; null when only an answer can change anything. */
  readonly wakeAt: number | null;
}
