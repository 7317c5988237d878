import type { Clock } from "../../api/index.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, Progress } from "../../journal/store.ts";
import type { Expected } from "../../kit/duration.ts";
import { LongWork } from "../../kit/long-work.ts";
import type { Plan, PlanStep } from "../../plan/plan.ts";
import { chainLengths } from "../../plan/slots.ts";
import type { Command } from "../../run/command.ts";
import { ResultRecorder } from "../../run/result-recorder.ts";
import { Scheduler } from "../../run/scheduler.ts";
import type { EffectContext } from "../effects/index.ts";
import type { SpendingWatch } from "../money/spending.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";
import type { DriveMemory } from "./drive-memory.ts";

/** Most urgent steps first: those that start the longest chains of steps. */
export interface Schedule {
  readonly plan: Plan;
  readonly order: readonly PlanStep[];
  readonly priority: (step: string) => number;
}

export interface DriveTools {
  readonly scheduler: Scheduler;
  readonly schedule: (plan: Plan) => Schedule;
  readonly expected: (step: PlanStep) => Expected;
  readonly results: ResultRecorder;
  /** Size of the run's state when it was last counted or stored as a snapshot; null if it was never counted. */
  weight: number | null;
  seq: number;
}

export async function driveTools(state: RunState, durations: ExpectedDurations): Promise<DriveTools> {
  const { plan } = state.planned;
  await durations.load(plan.steps);
  let schedule = scheduleOf(plan, durations);
  await new LongWork().pause(plan.steps.length);
  const current = (now: Plan) => {
    if (schedule.plan !== now) schedule = scheduleOf(now, durations);
    return schedule;
  };
  const results = new ResultRecorder(state);
  const expected = (step: PlanStep) => {
    return { ms: durations.expectedMs(step), isLearned: durations.knownMs(step) !== null };
  };
  return { scheduler: new Scheduler(state), schedule: current, expected, results, weight: null, seq: state.seq };
}

function scheduleOf(plan: Plan, durations: ExpectedDurations): Schedule {
  const lengths = chainLengths(plan, (step) => durations.expectedMs(step));
  const order = plan.steps.toSorted((a, b) => lengths.get(b.path)! - lengths.get(a.path)!);
  const longest = Math.max(1, lengths.get(order[0]?.path ?? "") ?? 0);
  return { plan, order, priority: (path) => Math.round((50 * (lengths.get(path) ?? 0)) / longest) };
}

export interface DriveDependencies
  extends Omit<EffectContext, "state" | "signal" | "priority" | "emit" | "recorded" | "progress" | "reportOutage"> {
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly spending: SpendingWatch;
  /** How long the run waits for an unavailable service before it pauses, in milliseconds. Infinity means forever. */
  readonly giveUpAfterMs: number;
  readonly inboxEveryMs: number;
}

/** How to drive a slice of a run. A slice ends when the run can only wait. */
export interface SliceOptions {
  readonly memory: DriveMemory;
  /** True if webhooks report when jobs end, so that polling is only a fallback. */
  readonly webhooks: boolean;
  /** Aborted when the slice has run long enough and must start nothing new. */
  readonly end: AbortSignal;
  /** Returns true if another job of the engine must perform the command. */
  readonly isDelegated: (command: Command) => boolean;
  /**
   * Hands a command to the engine, unless the engine already has it. `place`: number of the run's commands ahead of
   * this one.
   */
  readonly delegate: (command: Command, place: number) => Promise<void>;
}

export interface DriveOptions {
  /** How to drive one slice. Default: the run is driven until it finishes, pauses or is stopped. */
  readonly slice?: SliceOptions;
  readonly tools: DriveTools;
  /** How long the lease lasts if the process no longer renews it, in milliseconds. */
  readonly leaseMs: number;
  /** False if the inbox was empty when the lease was taken. */
  readonly hasMail: boolean;
  /** Aborted to stop gracefully: nothing new is submitted, and requests in progress are awaited. */
  readonly stop: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}
