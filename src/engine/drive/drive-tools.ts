import type { RunState } from "../../journal/state.ts";
import { ResultRecorder } from "../../run/cache-lookup.ts";
import { Scheduler } from "../../run/scheduler.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";
import { RunScheduler } from "./run-scheduler.ts";

/**
 * What a drive works out by a look at all steps of the run. The next slice goes on with it, where no other process had the
 * run meanwhile, so that a wake costs what changed.
 */
export interface DriveTools {
  readonly scheduler: Scheduler;
  readonly ranks: RunScheduler;
  readonly results: ResultRecorder;
  /** Of the state when it was last written whole, or since somebody had to know; null: it was not counted. */
  weight: number | null;
  /** Of the last event that they know of. */
  seq: number;
}

export async function driveTools(state: RunState, durations: ExpectedDurations): Promise<DriveTools> {
  const ranks = await RunScheduler.of(state, durations);
  const results = new ResultRecorder(state);
  return { scheduler: new Scheduler(state), ranks, results, weight: null, seq: state.seq };
}
