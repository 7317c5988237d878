import type { LocalWork } from "../../internal.ts";

/**
 * Drives runs on several machines: tracks the processes, gives them work, keeps timers, retries failures, and reassigns the
 * work of dead processes. It does not decide what a run does next; the journal does. All implementations must pass the same
 * contract suite.
 */
export interface Engine {
  /** True if the engine forgets its work when this process dies. A later process finds the work in the journal. */
  readonly isOfProcess?: true;
  /**
   * Schedules a slice of the run, at once or at a given time. A run's wakes are merged into the earliest; a wake during
   * a slice leads to another slice. Resolves once the wake would survive this process, if the engine supports that.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /**
   * Schedules local work in any process; the lowest `place` goes first. Work that is already scheduled is not added
   * again.
   */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Starts taking work. A run has one slice at a time across all processes. A handler that rejects is called again
   * after growing delays. If a handler's process dies, another process calls the handler.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Stops taking work and aborts the signals of work in progress. Resolves once that work has ended, or after `drainMs`;
   * unfinished work then goes to another process.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** When and how urgently a run is woken. */
export interface WakeOptions {
  /** Time of the wake, in epoch milliseconds. Default: at once. */
  readonly at?: number | undefined;
  /** Priority among due wakes; higher goes first. Default 0. */
  readonly priority?: number | undefined;
}

/** What a worker does with the work that its engine gives it. */
export interface EngineHandlers {
  /** Drives one slice of a run; returns when to wake the run again, in epoch milliseconds, or null. */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  /** Runs a local function of a run and delivers its result. */
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

/** How much a process works on at the same time. */
export interface ProcessOptions {
  /** Maximum concurrent slices in this process. */
  readonly slices: number;
  /** Maximum concurrent local functions in this process. */
  readonly local: number;
}

/** Identifies local work. Another attempt or a rerun is different work. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}
