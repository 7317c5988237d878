import type { RunEvent } from "../journal/events.ts";
import type { AttemptState } from "../journal/state.ts";
import type { Expected } from "../kit/late-text.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { Command } from "./command.ts";
import type { Headroom } from "./headroom.ts";

/** The inputs of a decision beside the state: the instant, and what this engine is doing. */
export interface DecideContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Steps by scheduling priority, the critical path first. */
  readonly order: readonly PlanStep[];
  /** Ids of commands under way. */
  readonly active: Pick<ReadonlySet<string>, "has" | "size">;
  /** Commands that may be retried only after an instant (epoch ms), or never in this drive (Infinity). */
  readonly notBefore: ReadonlyMap<string, number>;
  /** Submits none of whose sends in this drive left this machine. */
  readonly unsent?: ReadonlySet<string>;
  /** How far the service's clock is ahead of this machine's, milliseconds. */
  readonly clockOffsetMs?: number;
  /** An unanswered submit older than this is looked up by a person, not sent again. */
  readonly idempotencyWindowMs: number;
  /** How long the request of a step is expected to take. */
  readonly expected?: (step: PlanStep) => Expected;
  /** What is waited for no longer is asked for also while the run is idle otherwise: nobody has to stay for that. */
  readonly asksForLate?: boolean;
  /** The headroom that other runs and the wallet leave for this one, where it is known to be short. */
  readonly headrooms?: readonly Headroom[];
}

/** Whether nothing of a submit has left this machine, and nothing is about to. */
export function isUnsent(
  { unsent, active }: DecideContext,
  path: string,
  { n, phase }: Pick<AttemptState, "n" | "phase">,
): boolean {
  const id = `submit:${path}#${n}`;
  return phase === "submitting.sent" && unsent?.has(id) === true && !active.has(id);
}

export interface Decision {
  readonly events: readonly RunEvent[];
  /** To be started after the events are durable. */
  readonly commands: readonly Command[];
  /** When to decide again without a new event; null when only an event can change the decision. */
  readonly wakeAt: number | null;
  /** When to ask for late work again, of a run that is idle otherwise. */
  readonly lateAt?: number | null;
}

/** Until when a step need not be decided again, as long as nothing happens to it and to the steps that it uses. */
export interface StepWait {
  readonly blockedBy: "slots" | "money" | null;
  readonly wakeAt: number | null;
  readonly isWatching: boolean;
}
