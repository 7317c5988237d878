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

/** Which steps go first: those with the longest chain ahead of them. */
export interface Schedule {
  readonly plan: Plan;
  /** Every step of the plan, the most urgent first. */
  readonly order: readonly PlanStep[];
  /** Priority of a step's requests. */
  readonly priority: (step: string) => number;
}

/**
 * What a drive works out by a look at all steps of the run. The next slice continues with it, where no other process had the
 * run meanwhile, so that a wake costs what changed.
 */
export interface DriveTools {
  readonly scheduler: Scheduler;
  /** Asked on every turn: the same object until the plan is another one. */
  readonly schedule: (plan: Plan) => Schedule;
  /** How long the request of a step is expected to take. */
  readonly expected: (step: PlanStep) => Expected;
  readonly results: ResultRecorder;
  /** Of the state when it was last written whole, or since somebody had to know; null: it was not counted. */
  weight: number | null;
  /** Of the last event that they know of. */
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
