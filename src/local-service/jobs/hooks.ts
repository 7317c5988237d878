import { EventEmitter } from "node:events";
import type { EventRow, JobRow, NewEvent } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

/** Returns a function that stores a job's events and calls hooks in a transaction, and then wakes live streams. */
export function eventRecorder(store: Store, hooks: HookBus, hub: EventHub, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.logged(job, rows);
    store.afterCommit(() => hub.wake(job.seq));
  };
}

export type EventRecorder = ReturnType<typeof eventRecorder>;

/** Notifies live streams that a job has changed. The streams then read the change from the store. */
export function createEventHub() {
  const wakes = new EventEmitter().setMaxListeners(0);
  return {
    wake: (jobSeq: number) => void wakes.emit(String(jobSeq)),
    /** Calls `listener` whenever the job changes. Returns the function that unsubscribes. */
    subscribe(jobSeq: number, listener: () => void): () => void {
      wakes.on(String(jobSeq), listener);
      return () => void wakes.off(String(jobSeq), listener);
    },
  };
}

export type EventHub = ReturnType<typeof createEventHub>;

/**
 * Functions that other parts of the service (webhooks, log drains) register, and that are called when jobs change. Each
 * call runs inside the transaction that makes the change, so that a hook's rows are committed with the change. To wake
 * a worker, use `store.afterCommit`.
 */
export interface JobHooks {
  /** Called when a submitted job is accepted, so that its webhook delivery can be stored. Not called for chat jobs. */
  accepted?(job: JobRow): void;
  /** Called when lifecycle events of a job are stored. The events are in order. */
  logged?(job: JobRow, events: readonly EventRow[]): void;
  ended?(job: JobRow): void;
}

/** Forwards each call to all hooks that have been added. */
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
