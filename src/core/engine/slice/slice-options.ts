import type { Pipeline } from "../../define/index.ts";
import type { PauseReason, RunPlanned, StoredEvent } from "../../journal/events.ts";
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
  /** A person requested that the run continues, as `resume` would. Default: it continues as far as it is due. */
  readonly resume?: ResumeOptions | undefined;
  /** For runs with local functions. Default: such steps are left to other processes. */
  readonly findPipeline?: FindPipeline | undefined;
  /**
   * Takes a function that may last long, as a job of the engine of its own; {@link Showrunner.work} performs it. Settles once
   * the engine has it; one that it has already changes nothing. Default: functions run within the slice.
   */
  readonly delegate?: ((work: LocalWork) => Promise<void>) | undefined;
  /** What was delegated dies with this process. Default false: others of the engine take it over. */
  readonly worksHere?: boolean | undefined;
  /** Looks at the run although it is not due: what another process had of it may have died with that. Default false. */
  readonly anew?: boolean | undefined;
  /** Webhooks tell of the end of jobs, and polls only stand behind them. Default false. */
  readonly webhooks?: boolean | undefined;
  /** Looks at the wallet for a run that paused for funds, every ten seconds for so long, milliseconds. Default 0. */
  readonly waitForFundsMs?: number | undefined;
  /** Called with the run's events once they are in the journal, those of others included. */
  readonly onEvents?: ((events: readonly StoredEvent[]) => void) | undefined;
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
  /** As it was left; null where nothing was driven. */
  readonly driven: { readonly spentMicros: number; readonly pause: PauseReason | null } | null;
}
