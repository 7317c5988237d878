import type { LocalWork } from "../../internal.ts";

/**
 * What drives runs on several machines: it knows which processes there are, hands them work, keeps timers, repeats what
 * failed, and gives the work of a dead process to another one. What a run does next is none of its business: that is in the
 * journal. Implementations pass one contract suite.
 */
export interface Engine {
  /** What it was given dies with this process; nobody takes it over but a process that starts later. */
  readonly isOfProcess?: true;
  /**
   * Sees to it that the run gets a slice, at once or at an instant. Wakes of a run coalesce, the earliest counts; one that comes
   * during a slice leads to another slice. Settles once the wake outlives this process, as far as the engine does.
   */
  wake(runId: string, options?: WakeOptions): Promise<void>;
  /**
   * Sees to it that local work is performed, in whatever process, of what waits the lower `place` first. The same work, while it
   * is there, is not added twice.
   */
  delegate(work: LocalWork): Promise<void>;
  /**
   * Takes work from now on. One slice of a run at a time, over all processes; a handler that rejects is called again
   * after growing delays, and so is one whose process died, in another process.
   */
  process(handlers: EngineHandlers, options: ProcessOptions): Promise<void>;
  /**
   * Takes no more work, aborts the signals of what is under way, and settles once that has ended, or after `drainMs`: what is
   * not through by then is another process's.
   */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

export interface WakeOptions {
  /** Epoch milliseconds. Default: at once. */
  readonly at?: number | undefined;
  /** Among wakes that are due, the higher goes first. Default 0. */
  readonly priority?: number | undefined;
}

export interface EngineHandlers {
  /** Drives one slice of a run; answers when to wake it again, epoch milliseconds, or null. */
  slice(runId: string, signal: AbortSignal): Promise<number | null>;
  local(work: LocalWork, signal: AbortSignal): Promise<void>;
}

export interface ProcessOptions {
  /** Slices of different runs at once, in this process. */
  readonly slices: number;
  /** Local functions at once, in this process. */
  readonly local: number;
}

/** Names local work: another try, or a rerun, is other work. */
export function keyOfWork({ runId, command, of }: LocalWork): string {
  return `${runId} ${command.type}:${command.step} ${of}`;
}
