import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { isShowrunnerError } from "../../kit/errors.ts";
import { JournalBusyError, JournalClosedError } from "../errors.ts";
import { type Database, isBusy, journalFailure } from "./database.ts";

/**
 * Work that runs in a transaction, possibly along with other work. It must finish its checks before its first change,
 * because an error after a change rolls back the whole transaction.
 */
export type Work<T> = () => T;

interface Pending {
  readonly durable: boolean;
  /** Does the work inside the transaction. Returns a function to call after the commit. */
  readonly perform: () => () => void;
  readonly fail: (error: unknown) => void;
}

/** Maximum number of writes in a transaction. Larger transactions would block the event loop for too long. */
const largestGroup = 256;

/** Writes to the database. Writes requested in the same turn of the event loop share a transaction and an fsync. */
export class Writer {
  readonly #db: Database;
  readonly #busyRetry: BusyRetryOptions;
  readonly #guard: () => void;
  #queue: Pending[] = [];
  readonly #preparing = new Set<Promise<unknown>>();
  #draining: Promise<void> | null = null;
  #synchronous: "FULL" | "NORMAL" = "FULL";
  #closed = false;

  constructor(db: Database, busyRetry: BusyRetryOptions, guard: () => void) {
    this.#db = db;
    this.#busyRetry = busyRetry;
    this.#guard = guard;
  }

  /** Resolves after the commit. If `durable` is false, the write may be lost when the machine crashes. */
  write<T>(work: Work<T>, options: { readonly durable: boolean } = { durable: true }): Promise<T> {
    return this.#closed ? Promise.reject(closedError(this.#busyRetry.path)) : this.#enqueue(work, options);
  }

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

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#preparing);
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      // Gather the requests of one turn of the event loop.
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
    // SQLite ends the transaction itself after some failures.
    if (!this.#db.inTransaction) return;
    try {
      this.#db.run("ROLLBACK");
    } catch {
      // Report the first failure; the next transaction checks the state anyway.
    }
  }
}

export function closedError(path: string): JournalClosedError {
  return new JournalClosedError(path, `The journal ${path} was closed. Open it again.`);
}

export interface BusyRetryOptions {
  readonly busyTimeoutMs: number;
  readonly path: string;
}

/** For this many milliseconds, a call is retried on every turn of the event loop; after that, with delays. */
const eagerMs = 2;
const firstDelayMs = 1;
const longestDelayMs = 8;

/** Retries while another process holds the lock. Other failures are thrown as journal errors. */
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
    `Another process has kept the journal ${path} locked for ${busyTimeoutMs} ms. Look for a stuck process or an open SQLite shell, then try again.`,
    { cause },
  );
}
