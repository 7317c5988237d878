import { EventEmitter } from "node:events";
import type { EventRow, JobRow, NewEvent } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

/**
 * Returns a function that stores a job's events, calls hooks, and wakes live streams after the commit. Call it inside a
 * transaction.
 */
export function eventRecorder(store: Store, hooks: HookBus, hub: EventHub, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.logged(job, rows);
    store.afterCommit(() => hub.wake(job.seq));
  };
}

export type EventRecorder = ReturnType<typeof eventRecorder>;

/** Creates a hub that tells live streams when a job has changed. */
export function createEventHub() {
  const wakes = new EventEmitter().setMaxListeners(0);
  return {
    wake: (jobSeq: number) => void wakes.emit(String(jobSeq)),
    subscribe(jobSeq: number, listener: () => void): () => void {
      wakes.on(String(jobSeq), listener);
      return () => void wakes.off(String(jobSeq), listener);
    },
  };
}

export type EventHub = ReturnType<typeof createEventHub>;

/**
 * Callbacks for changes of jobs. Each call runs inside the transaction of the change. To wake a worker, use
 * `store.afterCommit`.
 */
export interface JobHooks {
  /** Called when a submitted job is accepted. Not called for chat jobs. */
  accepted?(job: JobRow): void;
  logged?(job: JobRow, events: readonly EventRow[]): void;
  ended?(job: JobRow): void;
}

export function createHooks() {
  const listeners: JobHooks[] = [];
  return {
    add: (hooks: JobHooks) => void listeners.push(hooks),
    accepted: (job: JobRow) => listeners.forEach((listener) => void listener.accepted?.(job)),
    logged: (job: JobRow, events: readonly EventRow[]) =>
      listeners.forEach((listener) => void listener.logged?.(job, events)),
    ended: (job: JobRow) => listeners.forEach((listener) => void listener.ended?.(job)),
  };
}

export type HookBus = ReturnType<typeof createHooks>;
