import type { Database } from "./database.ts";

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

/** What two machines that keep time, and a slow answer between them, may be apart. */
const TOLERATED_MS = 1_000;
const MEASURED_EVERY_MS = 60_000;

/** The database's clock as this process knows it, from a look at it now and then. */
export class SharedClock {
  readonly #db: Database;
  readonly #own: () => number;
  #measuredAt = Number.NEGATIVE_INFINITY;
  offsetMs = 0;

  constructor(db: Database) {
    this.#db = db;
    this.#own = db.settings.now;
  }

  now(): number {
    return this.#own() + this.offsetMs;
  }

  async measure(): Promise<void> {
    const before = this.#own();
    if (before - this.#measuredAt < MEASURED_EVERY_MS) return;
    const [row] = await this.#db.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now", []);
    const after = this.#own();
    const offsetMs = Math.round(this.#db.columns.integer(row!, "now") - (before + after) / 2);
    this.offsetMs = Math.abs(offsetMs) < TOLERATED_MS ? 0 : offsetMs;
    this.#measuredAt = after;
  }
}
