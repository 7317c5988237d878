import type { LocalWork } from "../../internal.ts";

/**
 * Distributes runs over processes on one or more machines. An engine gives processes work, sets timers, repeats failed
 * work, and reassigns the work of dead processes. The journal, not the engine, decides what a run does next. All
 * implementations pass the same contract tests.
 */
export interface Engine {
  /**
   * True if the engine loses its list of work when this process dies. A later process finds the work in the journal.
   */
  readonly isOfProcess?: true;
  /**
   * Schedules a slice of the run, at once or at a given time. Several wakes of a run are merged into the earliest; a
   * wake during a slice leads to another slice. Resolves once the wake would survive this process, if the engine
   * supports that.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /** Schedules local work in any process, unless already scheduled. Work with the lowest `place` goes first. */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Starts to take work. A run has one slice at a time across all processes. A handler that rejects is called again,
   * after growing delays. If a handler's process dies, another process calls the handler.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Stops taking work and aborts the signals of work in progress. Resolves once that work has ended, or after
   * `drainMs`. Unfinished work then goes to another process.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** When to wake a run, and how urgently. */
export interface WakeOptions {
  /** When the wake is due, in epoch milliseconds. Default: at once. */
  readonly at?: number | undefined;
  /** Priority among the wakes that are due; higher values go first. Default 0. */
  readonly priority?: number | undefined;
}

/** What a worker does with the work that its engine gives it. */
export interface EngineHandlers {
  /** Drives one slice of a run. Returns when to wake the run again, in epoch milliseconds; null if not at all. */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  /** Performs a local function of a run and delivers the result. */
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

/** How many things a process works on at the same time. */
export interface ProcessOptions {
  /** Maximum number of concurrent slices in this process. */
  readonly slices: number;
  /** Maximum number of concurrent local functions in this process. */
  readonly local: number;
}

/** Returns a key for local work, which differs for each attempt and each rerun. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}
