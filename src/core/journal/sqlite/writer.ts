import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { isShowrunnerError } from "../../kit/errors.ts";
import { JournalBusyError, JournalClosedError } from "../errors.ts";
import type { Database } from "./database.ts";
import { isBusy, journalFailure } from "./failure.ts";

/** Work inside a transaction: synchronous, and decides everything before its first change. */
export type Work<T> = () => T;

interface Pending {
  readonly durable: boolean;
  /** Does the work; what it returns tells the caller, once it is committed. */
  readonly perform: () => () => void;
  readonly fail: (error: unknown) => void;
}

/** Transactions at most this large keep the event loop's stalls short. */
const largestGroup = 256;

/**
 * Runs write transactions one after another. What is requested in one turn of the event loop shares a transaction and
 * its single fsync, in the order of the requests. Work that is refused before it changed anything fails alone; when a
 * shared transaction fails, its parts are tried one by one, so that none fails for another.
 */
export class Writer {
  readonly #db: Database;
  readonly #busyRetry: BusyRetryOptions;
  /** Looks, inside the transaction, whether the file is still the one that was opened. */
  readonly #guard: () => void;
  #queue: Pending[] = [];
  /** Writes whose contents are still being made ready. */
  readonly #preparing = new Set<Promise<unknown>>();
  #draining: Promise<void> | null = null;
  #synchronous: "FULL" | "NORMAL" = "FULL";
  #closed = false;

  constructor(db: Database, busyRetry: BusyRetryOptions, guard: () => void) {
    this.#db = db;
    this.#busyRetry = busyRetry;
    this.#guard = guard;
  }

  /**
   * Settles once the work is committed. `durable: false` may be lost when the machine (not the process) stops right
   * after, and saves the fsync.
   */
  write<T>(work: Work<T>, options: { readonly durable: boolean } = { durable: true }): Promise<T> {
    return this.#closed ? Promise.reject(closedError(this.#busyRetry.path)) : this.#enqueue(work, options);
  }

  /** A durable write of something that may still have to be made ready, which `close` waits for too. */
  writeReady<P, T>(needed: P | Promise<P>, work: (ready: P) => T): Promise<T> {
    if (!(needed instanceof Promise)) return this.write(() => work(needed));
    if (this.#closed) return Promise.reject(closedError(this.#busyRetry.path));
    const written = needed.then((ready) => this.#enqueue(() => work(ready), { durable: true }));
    this.#preparing.add(written);
    return written.finally(() => this.#preparing.delete(written));
  }

  #enqueue<T>(work: Work<T>, options: { readonly durable: boolean }): Promise<T> {
    return new Promise((resolve, reject) => {
      const perform = () => {
        const value = work();
        return () => resolve(value);
      };
      this.#queue.push({ durable: options.durable, perform, fail: reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves once everything requested before is written; later writes are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#preparing);
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      // One turn of the event loop gathers what its callbacks ask for.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commit(this.#queue.splice(0, largestGroup));
    }
    this.#draining = null;
  }

  async #commit(group: readonly Pending[]): Promise<void> {
    try {
      const acknowledge = await retryWhileBusy(() => this.#transact(group), this.#busyRetry);
      for (const acknowledgeOne of acknowledge) acknowledgeOne();
    } catch (error) {
      if (group.length === 1) return group[0]?.fail(error);
      for (const write of group) await this.#commit([write]);
    }
  }

  #transact(group: readonly Pending[]): (() => void)[] {
    this.#setSynchronous(group.some((write) => write.durable) ? "FULL" : "NORMAL");
    this.#db.run("BEGIN IMMEDIATE");
    try {
      this.#guard();
      const acknowledge = group.map((write) => this.#perform(write));
      this.#db.run("COMMIT");
      return acknowledge;
    } catch (error) {
      this.#rollBack();
      throw journalFailure(error, this.#busyRetry.path);
    }
  }

  #perform({ perform, fail }: Pending): () => void {
    const before = this.#db.writes;
    try {
      return perform();
    } catch (error) {
      if (this.#db.writes > before || !isShowrunnerError(error)) throw error;
      return () => fail(error);
    }
  }

  #setSynchronous(mode: "FULL" | "NORMAL"): void {
    if (this.#synchronous === mode) return;
    this.#db.run(`PRAGMA synchronous = ${mode}`);
    this.#synchronous = mode;
  }

  #rollBack(): void {
    this.#db.knownRuns.clear();
    // Some failures end the transaction by themselves.
    if (!this.#db.inTransaction) return;
    try {
      this.#db.run("ROLLBACK");
    } catch {
      // The first failure is the one worth reporting; the next transaction starts by finding out.
    }
  }
}

export function closedError(path: string): JournalClosedError {
  return new JournalClosedError(path, `The journal ${path} was closed. Open it again.`);
}

/** How long, in milliseconds, a call continues while other processes hold the lock, and where the lock is. */
export interface BusyRetryOptions {
  readonly busyTimeoutMs: number;
  readonly path: string;
}

/** A transaction takes well under a millisecond, so at first it is worth asking again at every turn of the event loop. */
const eagerMs = 2;
const firstDelayMs = 1;
const longestDelayMs = 8;

/**
 * Calls `attempt` until it no longer meets another process's lock. The wait between attempts leaves the event loop
 * free; it grows, with some chance in it so that two waiting processes part ways. Other failures come out typed.
 */
export async function retryWhileBusy<T>(attempt: () => T, busyRetry: BusyRetryOptions): Promise<T> {
  const startedAt = performance.now();
  let delayMs = firstDelayMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw journalFailure(error, busyRetry.path);
      const waitedMs = performance.now() - startedAt;
      if (waitedMs >= busyRetry.busyTimeoutMs) throw stillBusy(busyRetry, error);
      if (waitedMs < eagerMs) {
        await nextTurn();
        continue;
      }
    }
    await delay(delayMs * (0.5 + Math.random()));
    delayMs = Math.min(delayMs * 2, longestDelayMs);
  }
}

function stillBusy({ path, busyTimeoutMs }: BusyRetryOptions, cause: unknown): JournalBusyError {
  return new JournalBusyError(
    path,
    `Another process has kept the journal ${path} locked for ${busyTimeoutMs} ms. Look for a stuck process or an open SQLite shell on it, then try again.`,
    { cause },
  );
}
