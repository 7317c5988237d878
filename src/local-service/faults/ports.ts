import type { ForcedEnd } from "../runner/finish.ts";
import type { JobRow } from "../store/rows.ts";

/** Where the inner parts ask whether something should go wrong. */
export interface JobFaults {
  /** How long a job's cost stays unseen after the charge. */
  costLateMs(model: string): number;
  /** Whether an idempotency key is treated as never seen. */
  forgetsKeys(model: string): boolean;
  /** Whether the wallet is asked before the idempotency key. */
  fundsBeforeKeys(model: string): boolean;
  /** Whether a delete cannot be finished this time. */
  failsDelete(model: string): boolean;
  /** How a job is made to end. */
  endOf(job: JobRow, outputs: number): ForcedEnd;
}

export const NO_FORCE: ForcedEnd = { job: null, outputs: new Map(), fpsLateMs: 0, expireNow: false };
