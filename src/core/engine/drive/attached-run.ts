import { type Clock, sleep } from "../../api/index.ts";
import { RunUnknownError } from "../../journal/errors.ts";
import { isHolderGone } from "../../journal/host.ts";
import { isRunFinal, type RunState } from "../../journal/state.ts";
import type { JournalStore, RunRow } from "../../journal/store.ts";
import { RunBusyError } from "../errors.ts";
import type { RunHandle, RunResult } from "./run-result.ts";
import { runHandle } from "./run-result.ts";
import { Updates } from "./updates.ts";

/** A run that was just written down has no lease yet; its process takes one within this time, milliseconds. */
const BEGINS_WITHIN_MS = 5_000;

/**
 * Whether the journal has the run under way although no process drives it: its process was killed, or gave up. Derived
 * from the lease, never stored; `now` in epoch milliseconds.
 */
export function isInterrupted(row: RunRow, now: number): boolean {
  return (row.status === "running" || row.status === "planned") && !isDriven(row, now);
}

/** An engine that looks at a run so much later than it was to has no worker. */
const UNWORKED_AFTER_MS = 60_000;

/** Whether a process drives the run, or will at once; or an engine does, which looks at it again when it is due. */
export function isDriven({ status, lease, updatedAt, wakeAt, resumeAt }: RunRow, now: number): boolean {
  if (lease !== null) return now <= lease.expiresAt && !isHolderGone(lease.holder, lease.expiresAt - now);
  // At rest, it is looked at for late work: that may take any time, and nobody has to wait for it. A message makes it due at once.
  const isAtRest = isRunFinal(status as RunState["status"]) || (status === "paused" && resumeAt === null);
  if (wakeAt !== null) return (!isAtRest || wakeAt <= now) && now <= wakeAt + UNWORKED_AFTER_MS;
  return status === "planned" && now - updatedAt <= BEGINS_WITHIN_MS;
}

/** The row with its current status: `interrupted` where it says that it is running and no process drives it. */
export function statusNow(row: RunRow, now: number): RunRow {
  return isInterrupted(row, now) ? { ...row, status: "interrupted" } : row;
}

/** Between two looks at a run that another process drives, milliseconds. */
const POLL_EVERY_MS = 500;

export interface AttachedParts {
  readonly store: JournalStore;
  readonly clock: Clock;
  load(): Promise<RunState>;
  resultOf(state: RunState): RunResult;
  /** Drives the run here, once the process that did has ended. */
  takeOver(): Promise<RunHandle>;
  /** Whether whoever follows the paused run sets it going again: with limits that it lacks, or to wait once more for what is late. */
  continues(state: RunState): boolean;
}

/** A handle of a run that another process drives: it tells what happens, and takes the run over should that one die. */
export function attach({ runId, lastSeq }: RunRow, parts: AttachedParts, signal: AbortSignal | undefined): RunHandle {
  const updates = new Updates(parts.store, runId, lastSeq);
  const stop = () => parts.store.send(runId, { type: "stop" }, parts.clock.now());
  return runHandle(runId, updates, { begin: () => follow(runId, lastSeq, parts, updates), stop }, signal);
}

/** Follows a run that another process drives, and takes it over should that one die. */
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

/** A dead process is replaced within this time by another one that drives its runs, milliseconds. */
const TAKEN_OVER_WITHIN_MS = 10_000;

/**
 * A handle that only looks, whichever process drives the run: it tells what happens, drives nothing, and ends when the run is at
 * rest, or when nobody drives it any more.
 */
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

/** Settles with the run's next event, and at the latest when it is to be looked whether its process lives. */
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

/** Null where another one that followed it was faster. */
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
