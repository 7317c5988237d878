import type { Clock } from "../../api/index.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, Progress } from "../../journal/store.ts";
import type { Expected } from "../../kit/late-text.ts";
import { LongWork } from "../../kit/long-work.ts";
import { chainLengths } from "../../plan/critical-path.ts";
import type { Plan, PlanStep } from "../../plan/plan.ts";
import type { Command } from "../../run/command.ts";
import { ResultRecorder } from "../../run/result-recorder.ts";
import { Scheduler } from "../../run/scheduler.ts";
import type { EffectContext } from "../effects/index.ts";
import type { SpendingWatch } from "../money/spending.ts";
import type { ExpectedDurations } from "../price/expected-durations.ts";
import type { DriveMemory } from "./drive-memory.ts";

/** Orders steps by urgency: longest remaining chain first. */
export interface Schedule {
  readonly plan: Plan;
  /** All steps in the plan, most urgent first. */
  readonly order: readonly PlanStep[];
  readonly priority: (step: string) => number;
}

/**
 * What a drive computes from all of a run's steps. The next slice reuses it if no other process drove the run in
 * between, so a wake-up processes only what changed.
 */
export interface DriveTools {
  readonly scheduler: Scheduler;
  /** Called on every turn; returns the same object until the plan changes. */
  readonly schedule: (plan: Plan) => Schedule;
  readonly expected: (step: PlanStep) => Expected;
  readonly results: ResultRecorder;
  /** Weight of the run's state at its last snapshot or last count; null if not counted. */
  weight: number | null;
  /** Sequence number of the last event that these tools include. */
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
  /** The limits on what several runs together may spend, in addition to each run's own budget. */
  readonly spending: SpendingWatch;
  /** How long the run waits for an unavailable service before it pauses, in milliseconds; Infinity means forever. */
  readonly giveUpAfterMs: number;
  /** Interval between reads of the inbox, in milliseconds. */
  readonly inboxEveryMs: number;
}

/** How to drive a slice of a run. The run is parked when it can only wait. */
export interface SliceOptions {
  readonly memory: DriveMemory;
  /** True if webhooks report when jobs end, so that polling is only a fallback. */
  readonly webhooks: boolean;
  /** Aborted when the slice has run long enough: nothing new starts, so other runs get their turn. */
  readonly end: AbortSignal;
  /** True if another job of the engine performs the command, and answers with a `performed` inbox message. */
  readonly isDelegated: (command: Command) => boolean;
  /** Delegates a command to the engine, unless already done. `place`: how many of the run's commands precede it. */
  readonly delegate: (command: Command, place: number) => Promise<void>;
}

export interface DriveOptions {
  /** If absent, the run is driven until it finishes, pauses or is stopped. */
  readonly slice?: SliceOptions;
  readonly tools: DriveTools;
  /** How long a frozen process keeps the lease, in milliseconds. */
  readonly leaseMs: number;
  /** False if the inbox has just been found empty. */
  readonly hasMail: boolean;
  /** Abort to stop gracefully: no new submits; submits in progress are settled, then the run is parked. */
  readonly stop: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}
