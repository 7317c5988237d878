import type { Waiters } from "../waiters.ts";
import type { Database } from "./database.ts";

/**
 * Tells waiting calls about what other processes wrote: while anybody waits, SQLite's own change counter is looked at
 * every `intervalMs`, which reads no table. Writes of this process are announced at once by the store itself.
 */
export class ChangePoll {
  readonly #db: Database;
  readonly #waiters: Waiters;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | null = null;
  #seen = 0;
  #dirty = false;

  constructor(db: Database, waiters: Waiters, intervalMs: number) {
    this.#db = db;
    this.#waiters = waiters;
    this.#intervalMs = intervalMs;
  }

  /** Polls from now on, until no waiter is left. */
  start(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#version();
    // What was written between the caller's look and this one must not be missed.
    this.#waiters.notifyAll();
    this.#timer = setInterval(() => this.#look(), this.#intervalMs);
  }

  /** The next look tells the waiting calls even when nothing was written meanwhile. */
  recheck(): void {
    this.#dirty = true;
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    if (this.#waiters.size === 0) return this.stop();
    const version = this.#version();
    if (version === this.#seen && !this.#dirty) return;
    this.#dirty = false;
    this.#seen = version;
    this.#waiters.notifyAll();
  }

  /** The last one seen when the file is locked just now: the next look will tell. */
  #version(): number {
    try {
      return this.#db.columns.integer(this.#db.get("PRAGMA data_version") ?? {}, "data_version");
    } catch {
      return this.#seen;
    }
  }
}
