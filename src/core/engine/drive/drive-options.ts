import type { Clock } from "../../api/index.ts";
import type { JournalStore, Progress } from "../../journal/store.ts";
import type { Command } from "../../run/command.ts";
import type { EffectContext } from "../effects/index.ts";
import type { SpendingWatch } from "../money/spending.ts";
import type { DriveMemory } from "./drive-memory.ts";
import type { DriveTools } from "./drive-tools.ts";

export interface DriveDependencies
  extends Omit<EffectContext, "state" | "signal" | "priority" | "emit" | "recorded" | "progress" | "reportOutage"> {
  readonly store: JournalStore;
  readonly clock: Clock;
  /** What runs may spend together, beside each run's own budget. */
  readonly spending: SpendingWatch;
  /** How long the run waits for an unavailable service before it pauses, milliseconds; Infinity: without limit. */
  readonly giveUpAfterMs: number;
  /** Reading the inbox that other processes write to, milliseconds. */
  readonly inboxEveryMs: number;
}

/** How a slice of a run is driven: where only waiting is left, the run is parked. */
export interface SliceOptions {
  /** What the slice before this one left. */
  readonly memory: DriveMemory;
  /** A webhook tells of the end of jobs; polls only stand behind it. */
  readonly webhooks: boolean;
  /** Aborted once it has lasted long enough: nothing more begins, so that other runs get their turn. */
  readonly end: AbortSignal;
  /** Whether another job of the engine performs the command; it answers with a message `performed` in the inbox. */
  readonly isDelegated: (command: Command) => boolean;
  /** Settles once the engine has it, behind `place` others of the run. An engine that has it already changes nothing. */
  readonly delegate: (command: Command, place: number) => Promise<void>;
}

export interface DriveOptions {
  /** Absent: the run is driven until it finishes, pauses or is stopped. */
  readonly slice?: SliceOptions;
  readonly tools: DriveTools;
  /** How long a frozen holder keeps the run. */
  readonly leaseMs: number;
  /** False where the inbox was just seen to be empty. */
  readonly hasMail: boolean;
  /** Aborted to stop gracefully: no new submits, those under way are settled, then the run is parked. */
  readonly stop: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}
