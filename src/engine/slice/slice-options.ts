import type { Pipeline } from "../../define/index.ts";
import type { RunPlanned } from "../../journal/events.ts";
import type { RunStatus } from "../../journal/state.ts";
import type { Command } from "../../run/command.ts";
import type { ResumeOptions } from "../options/options.ts";

/** The code of a run that has local functions; null where this process has it not. */
export type FindPipeline = (planned: RunPlanned) => Promise<Pipeline | null>;

/** Local work of a run, for another job of the engine: plain JSON. */
export interface LocalWork {
  readonly runId: string;
  readonly command: Command & { readonly step: string };
  /** Which try of the step it belongs to. */
  readonly of: string;
  /** How many functions of the run were under way before it: of what waits, the lower goes first. Default 0. */
  readonly place?: number;
}

export interface SliceOptions {
  /** A person requested that the run goes on, as `resume` would. Default: it goes on as far as it is due. */
  readonly resume?: ResumeOptions | undefined;
  /** For runs with local functions. Default: such steps are left to other processes. */
  readonly findPipeline?: FindPipeline | undefined;
  /**
   * Takes a function that may last long, as a job of the engine of its own; {@link Showrunner.work} performs it. Settles once
   * the engine has it; one that it has already changes nothing. Default: functions run within the slice.
   */
  readonly delegate?: ((work: LocalWork) => Promise<void>) | undefined;
  /** Webhooks tell of the end of jobs, and polls only stand behind them. Default false. */
  readonly webhooks?: boolean | undefined;
  /** Begins nothing more after so many milliseconds, so that other runs get their turn. Default 10 000. */
  readonly maxMs?: number | undefined;
  /** Aborting ends the slice as soon as what is under way has ended. */
  readonly signal?: AbortSignal | undefined;
}

/** How a slice ended. */
export interface Slice {
  /** `busy`: another process holds the run. `left`: this process cannot drive it, and `message` says why. */
  readonly status: RunStatus | "busy" | "left";
  /** When to look again, epoch milliseconds; null: only once something is in the run's inbox. */
  readonly wakeAt: number | null;
  readonly message: string | null;
}
