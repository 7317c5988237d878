import type { Clock } from "../api/index.ts";
import { sleep } from "../api/index.ts";
import type { RunState } from "../journal/state.ts";
import { isRunFinal } from "../journal/state.ts";
import type { JournalStore } from "../journal/store.ts";
import { isInterrupted } from "./interrupted.ts";
import type { RunHandle, RunResult } from "./run-result.ts";
import { Updates } from "./updates.ts";

/** Between two looks at a run that another process drives, milliseconds. */
const LOOK_EVERY_MS = 500;

export interface AttachedParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  load(): Promise<RunState>;
  resultOf(state: RunState): RunResult;
  /** Drives the run here, once the process that did is gone. */
  takeOver(): Promise<RunHandle>;
}

/** A handle of a run that another process drives: it tells what happens, and takes the run over should that one die. */
export function attach(runId: string, parts: AttachedParts, signal: AbortSignal | undefined): RunHandle {
  const updates = new Updates();
  const stop = () => parts.store.send(runId, { type: "stop" }, parts.clock.now());
  signal?.addEventListener("abort", () => void stop().catch(() => {}), { once: true });
  const done = follow(runId, parts, updates).finally(() => updates.end());
  done.catch(() => {});
  return {
    id: runId,
    events: () => updates.read(),
    result: () => done,
    stop: async () => {
      await stop();
      await done.catch(() => {});
    },
  };
}

async function follow(runId: string, parts: AttachedParts, updates: Updates): Promise<RunResult> {
  const { store, clock } = parts;
  for (let afterSeq = 0; ; ) {
    const row = await store.run(runId);
    const events = await store.read(runId, { afterSeq });
    updates.push(events);
    afterSeq = events.at(-1)?.seq ?? afterSeq;
    const state = await parts.load();
    // A run that rests while somebody still holds it may only be changing.
    if ((state.status === "paused" || isRunFinal(state.status)) && row?.lease === null) return parts.resultOf(state);
    if (row !== null && isInterrupted(row, clock.now())) return driveOn(await parts.takeOver(), updates);
    await sleep(clock, LOOK_EVERY_MS);
  }
}

async function driveOn(handle: RunHandle, updates: Updates): Promise<RunResult> {
  for await (const update of handle.events()) {
    if ("event" in update) updates.push([update]);
    else updates.progress(update);
  }
  return handle.result();
}
