import { type Clock, sleep } from "../../api/index.ts";
import { RunUnknownError } from "../../journal/errors.ts";
import { isDriven } from "../../journal/host.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { JournalStore, RunRow } from "../../journal/store.ts";
import { RunBusyError } from "../errors.ts";
import { type RunHandle, type RunResult, runHandle } from "./run-result.ts";
import { Updates } from "./updates.ts";

const POLL_EVERY_MS = 500;

export interface AttachedParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  load(): Promise<RunState>;
  resultOf(state: RunState): RunResult;
  takeOver(): Promise<RunHandle>;
  /**
   * Returns true if a paused run should continue, because its limits changed or it may wait for late requests again.
   */
  continues(state: RunState): boolean;
}

/**
 * Returns a handle for a run that another process is executing. If that process dies, this process takes over the run.
 */
export function attach({ runId, lastSeq }: RunRow, parts: AttachedParts, signal: AbortSignal | undefined): RunHandle {
  const updates = new Updates(parts.store, runId, lastSeq);
  const stop = () => parts.store.send(runId, { type: "stop" }, parts.clock.now());
  return runHandle(runId, updates, { begin: () => follow(runId, lastSeq, parts, updates), stop }, signal);
}

export async function follow(
  runId: string,
  lastSeq: number,
  parts: AttachedParts,
  updates: Updates,
): Promise<RunResult> {
  const { store, clock } = parts;
  for (let afterSeq = lastSeq; ; ) {
    const row = await store.run(runId);
    const events = await store.read(runId, { afterSeq });
    updates.push(events);
    afterSeq = events.at(-1)?.seq ?? afterSeq;
    if (row !== null && !isDriven(row, clock.now())) {
      const state = await parts.load();
      const isPaused = state.status === "paused" && !parts.continues(state);
      if (isPaused || isRunFinal(state.status)) return parts.resultOf(state);
      const result = await driveOn(await parts.takeOver(), updates);
      if (result !== null) return result;
    }
    await movedOrDue(store, clock, runId, afterSeq);
  }
}

/** How long to wait for another process to take over a run after the process that executed it has died. */
const TAKEN_OVER_WITHIN_MS = 10_000;

/** Follows a run without executing it. Ends when the run ends or pauses, or when no process is executing it. */
export function watch(
  { runId, lastSeq }: RunRow,
  parts: Omit<AttachedParts, "takeOver" | "continues">,
  closed: AbortSignal,
): RunHandle {
  const { store, clock } = parts;
  const updates = new Updates(store, runId, lastSeq);
  const stop = () => store.send(runId, { type: "stop" }, clock.now());
  const begin = async () => {
    let undrivenSince = Number.POSITIVE_INFINITY;
    for (let afterSeq = lastSeq; ; ) {
      const row = await store.run(runId);
      if (row === null) throw new RunUnknownError(runId);
      const events = await store.read(runId, { afterSeq });
      updates.push(events);
      afterSeq = events.at(-1)?.seq ?? afterSeq;
      const now = clock.now();
      undrivenSince = isDriven(row, now) ? Number.POSITIVE_INFINITY : Math.min(undrivenSince, now);
      if (undrivenSince <= now || closed.aborted) {
        const state = await parts.load();
        const isAtRest = state.status === "paused" || isRunFinal(state.status);
        if (isAtRest || closed.aborted || now - undrivenSince >= TAKEN_OVER_WITHIN_MS) return parts.resultOf(state);
      }
      await movedOrDue(store, clock, runId, afterSeq, closed);
    }
  };
  return runHandle(runId, updates, { begin, stop }, undefined);
}

async function movedOrDue(
  store: JournalStore,
  clock: Clock,
  runId: string,
  afterSeq: number,
  signal?: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const waits = [sleep(clock, POLL_EVERY_MS, either), store.waitForChange(runId, afterSeq, either)];
  await Promise.race(waits.map((wait) => wait.catch(() => {})));
  over.abort();
}

/** Forwards the updates of a run and returns its result. Returns null if another process is executing the run. */
async function driveOn(handle: RunHandle, updates: Updates): Promise<RunResult | null> {
  for await (const update of handle.events()) {
    if ("event" in update) updates.push([update]);
    else updates.progress(update);
  }
  return handle.result().catch((error: unknown) => {
    if (error instanceof RunBusyError) return null;
    throw error;
  });
}
