import type { Waiters } from "../waiters.ts";
import type { Database } from "./database.ts";

/** Wakes waiting calls when other processes write, by polling SQLite's change counter. */
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

  start(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#version();
    // Notify once now, because something may have been written since the caller's read.
    this.#waiters.notifyAll();
    this.#timer = setInterval(() => this.#look(), this.#intervalMs);
  }

  /** Makes the next poll wake the callers even if nothing was written. */
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

  #version(): number {
    try {
      return this.#db.columns.integer(this.#db.get("PRAGMA data_version") ?? {}, "data_version");
    } catch {
      return this.#seen;
    }
  }
}
