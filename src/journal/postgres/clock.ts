/**
 * Whose clock leases go by: the database's, which all its processes share. What a lease has left is therefore sent as a
 * length of time, and made an instant of this process's clock, whatever that shows.
 */
export interface LeaseClock {
  /** Null: the database looks at its own. */
  forDatabase(at?: number): number | null;
  /** The same as a field of a write, or none. */
  forWrite(at?: number): { readonly now?: number };
  /** The instant, by this process's clock, at which so many milliseconds have passed. */
  expiryOf(leftMs: number, at?: number): number;
}

export function databaseClock(now: () => number): LeaseClock {
  return { forDatabase: () => null, forWrite: () => ({}), expiryOf: (leftMs, at = now()) => at + leftMs };
}

/** For tests that hold the time by hand: leases go by the instants that the callers give. */
export function callersClock(): LeaseClock {
  return {
    forDatabase: (at = 0) => at,
    forWrite: (at = 0) => ({ now: at }),
    expiryOf: (leftMs, at = 0) => at + leftMs,
  };
}
