import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { JournalBusyError } from "../errors.ts";
import { isBusy, journalFailure } from "./failure.ts";

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
