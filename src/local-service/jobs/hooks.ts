import { EventEmitter } from "node:events";
import type { EventRow, JobRow, NewEvent } from "../store/rows.ts";
import type { Store } from "../store/store.ts";

/** Returns a function that must be called inside a transaction. */
export function eventRecorder(store: Store, hooks: HookBus, hub: EventHub, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.logged(job, rows);
    store.afterCommit(() => hub.wake(job.seq));
  };
}

export type EventRecorder = ReturnType<typeof eventRecorder>;

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

/** Callbacks that run inside the transaction that changes a job. */
export interface JobHooks {
  /** Not called for chat jobs. */
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
