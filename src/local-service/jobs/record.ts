import type { JobRow, NewEvent } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import type { EventHub } from "./event-hub.ts";
import type { HookBus } from "./hooks.ts";

/** Stores lifecycle events of a job, inside a transaction, and tells whoever listens once it is committed. */
export function eventRecorder(store: Store, hooks: HookBus, hub: EventHub, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.logged(job, rows);
    store.afterCommit(() => hub.wake(job.seq));
  };
}

export type EventRecorder = ReturnType<typeof eventRecorder>;
