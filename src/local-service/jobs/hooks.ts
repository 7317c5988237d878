import type { EventRow, JobRow } from "../store/rows.ts";

/**
 * What other parts of the service (webhooks, log drains) hear of jobs. Each call runs inside the transaction that makes
 * the thing true, so a row written there exists exactly when the thing does. Wake a worker with `store.afterCommit`.
 */
export interface JobHooks {
  /** A submit was accepted; the place to write a delivery's row. Chat jobs are not reported. */
  accepted?(job: JobRow): void;
  /** Lifecycle events were stored, in order. */
  logged?(job: JobRow, events: readonly EventRow[]): void;
  /** The job is COMPLETED or FAILED. */
  settled?(job: JobRow): void;
}

/** Passes everything on to each listener added so far. */
export function createHooks() {
  const listeners: JobHooks[] = [];
  return {
    add: (hooks: JobHooks) => void listeners.push(hooks),
    accepted: (job: JobRow) => listeners.forEach((listener) => void listener.accepted?.(job)),
    logged: (job: JobRow, events: readonly EventRow[]) =>
      listeners.forEach((listener) => void listener.logged?.(job, events)),
    settled: (job: JobRow) => listeners.forEach((listener) => void listener.settled?.(job)),
  };
}

export type HookBus = ReturnType<typeof createHooks>;
