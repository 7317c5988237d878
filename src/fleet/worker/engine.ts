import type { LocalWork } from "../../core/engine/index.ts";

/**
 * Distributes runs over processes on one or more machines. An engine gives processes work, sets timers, repeats failed
 * work, and reassigns the work of dead processes. The journal decides what a run does next.
 */
export interface Engine {
  /**
   * True if the engine's list of work is lost when this process dies. A later process finds the work in the journal.
   */
  readonly isOfProcess?: true;
  /**
   * Schedules a slice of the run, immediately or at the given time. In a slice, a worker does everything that is due in
   * the run. Several wakes of a run are merged into the earliest. A wake during a slice leads to another slice. An
   * engine that stores its work resolves only once the wake is stored.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /** Schedules local work in any process, unless it is already scheduled. Work with the lowest `place` goes first. */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Starts to take work. A run has one slice at a time across all processes. If a handler rejects, the engine calls it
   * again after a growing delay. If the process of a handler dies, another process repeats the work.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Stops taking work and aborts the signals of work in progress. Resolves once that work has ended, or after
   * `drainMs`. Another process then takes unfinished work.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** When to wake a run, and how urgently. */
export interface WakeOptions {
  /** When the wake is due, in epoch milliseconds. Default: immediately. */
  readonly at?: number | undefined;
  /** Priority among the wakes that are due. Higher values go first. Default 0. */
  readonly priority?: number | undefined;
}

/** A worker's handlers for the work that its engine gives it. */
export interface EngineHandlers {
  /**
   * Executes one slice of a run: does everything that is due. Returns when to wake the run again, in epoch
   * milliseconds, or null to schedule no wake.
   */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  /** Performs a local function of a run and delivers the result. */
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

/** Limits on the concurrent work of a process. */
export interface ProcessOptions {
  /** Maximum number of concurrent slices in this process. */
  readonly slices: number;
  /** Maximum number of concurrent local functions in this process. */
  readonly local: number;
}

/** Returns the key of local work. Each attempt and each rerun has a different key. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}
