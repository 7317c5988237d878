import type { FailureCode } from "../outbound/outcome.ts";

/** Consecutive failed batches that disable a drain. */
export const MAX_FAILURES = 5;

/** Delivery state of a drain. Instants are epoch milliseconds on the service's clock. */
export interface DrainState {
  /** 1 or 0. */
  readonly enabled: number;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  readonly lastFailureStatus: number | null;
  readonly lastError: FailureCode | null;
  readonly disabledReason: "consecutive_failures" | "disabled_by_user" | null;
  /** The last event that the destination accepted. */
  readonly position: number;
}

export function newDrain(enabled: boolean, position: number): DrainState {
  return {
    enabled: enabled ? 1 : 0,
    consecutiveFailures: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailureStatus: null,
    lastError: null,
    disabledReason: null,
    position,
  };
}

/** The destination accepted a batch up to `position`. */
export function shipped<D extends DrainState>(drain: D, position: number, now: number): D {
  return { ...drain, consecutiveFailures: 0, lastSuccessAt: now, position: Math.max(drain.position, position) };
}

/** A batch failed; it stays pending and is retried. */
export function failed<D extends DrainState>(drain: D, error: FailureCode, status: number | null, now: number): D {
  const consecutiveFailures = drain.consecutiveFailures + 1;
  const noted = { ...drain, consecutiveFailures, lastFailureAt: now, lastFailureStatus: status, lastError: error };
  const isOver = drain.enabled === 1 && consecutiveFailures >= MAX_FAILURES;
  return isOver ? { ...noted, enabled: 0, disabledReason: "consecutive_failures" } : noted;
}

/** A person enables it, which resets its failures, or disables it. */
export function switched<D extends DrainState>(drain: D, on: boolean): D {
  const count = on ? 0 : drain.consecutiveFailures;
  const disabledReason = on ? null : "disabled_by_user";
  return { ...drain, enabled: on ? 1 : 0, disabledReason, consecutiveFailures: count };
}
