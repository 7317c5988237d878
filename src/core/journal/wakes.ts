import type { Json } from "../plan/plan.ts";
import type { RunEvent } from "./events.ts";

/**
 * How a run that an engine drives waits: parked, without a process. It is the engine's until it is removed; while it
 * is idle, only a message in its inbox makes it due.
 */
export interface Wake {
  /** When it is due, epoch milliseconds; null: only once a message is in its inbox. */
  readonly at: number | null;
  /**
   * What the next holder of the lease continues from beside the events, such as when each job is polled next. It is handed
   * out once: after a crash it is gone, and everything is asked for again.
   */
  readonly memo: Json;
}

/** A parked run whose slice begins no later than so after it was due was looked after all the time, milliseconds. */
export const ON_TIME_MS = 10_000;

/** Asks for the runs of an account that are due by an instant, the longest overdue first. */
export interface DueQuery {
  readonly account: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly limit: number;
}

/** What others than people tell a run that an engine drives. */
export type WorkMessage =
  /** A webhook said that the job of this attempt ended: it is polled now. */
  | { readonly type: "hint"; readonly step: string; readonly attempt: number }
  /**
   * A job of the engine performed a command of this step, which was as `of` says (see `workOf`); or a provider answered a
   * process that had lost the run by then, to the request with the key `of`.
   */
  | {
      readonly type: "performed";
      readonly step: string;
      readonly command: string;
      readonly of: string;
      readonly events: readonly RunEvent[];
    };
