import type { LocalWork } from "../../internal.ts";

/**
 * Drives runs on several machines: knows the processes, hands them work, keeps timers, retries failures, and reassigns
 * the work of dead processes. It does not decide what a run does next; the journal does. All implementations pass one
 * contract suite.
 */
export interface Engine {
  /** True if its work dies with this process and is only found by a process that starts later. */
  readonly isOfProcess?: true;
  /**
   * Schedules a slice of the run, at once or at an instant. Wakes of a run coalesce to the earliest; one during a slice
   * leads to another slice. Resolves once the wake would survive this process, as far as the engine supports that.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /**
   * Schedules local work in any process; the lowest `place` goes first. Work that is already scheduled is not added
   * again.
   */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Starts taking work. A run has one slice at a time across all processes. A handler that rejects is called again
   * after growing delays, and one whose process died is called in another process.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Takes no more work and aborts the signals of work in progress. Resolves once that has ended, or after `drainMs`;
   * unfinished work then goes to another process.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/** When and how urgently a run is woken. */
export interface WakeOptions {
  /** Epoch milliseconds. Default: at once. */
  readonly at?: number | undefined;
  /** Among due wakes, higher goes first. Default 0. */
  readonly priority?: number | undefined;
}

/** What a worker does with the work that its engine hands out. */
export interface EngineHandlers {
  /** Drives one slice of a run; returns when to wake it again, in epoch milliseconds, or null. */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  /** Runs a local function of a run and delivers its result. */
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

/** How much a process works on at once. */
export interface ProcessOptions {
  /** Maximum concurrent slices in this process. */
  readonly slices: number;
  /** Maximum concurrent local functions in this process. */
  readonly local: number;
}

/** Identifies local work; another attempt or a rerun is different work. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}
