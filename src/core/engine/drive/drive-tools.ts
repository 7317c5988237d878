import type { Clock, PlannedPoll } from "../../api/index.ts";
import { isHolderDead } from "../../journal/host.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, LeaseHolder, Progress } from "../../journal/store.ts";
import type { Expected } from "../../kit/duration.ts";
import { LongWork } from "../../kit/long-work.ts";
import type { Json, Plan, PlanStep } from "../../plan/plan.ts";
import { chainLengths } from "../../plan/slots.ts";
import type { Command } from "../../run/command.ts";
import { ResultRecorder } from "../../run/result-recorder.ts";
import { Scheduler } from "../../run/scheduler.ts";
import { HINTED } from "../effects/follow.ts";
import type { EffectContext } from "../effects/index.ts";
import type { SpendingMemo, SpendingWatch } from "../money/spending.ts";
import type { ExpectedDurations } from "../price/expected.ts";
import type { WatchMemo } from "../service/service-answers.ts";

/** A plan and its steps in order of urgency: steps that start the longest chains of steps come first. */
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
  /** Weight (see `weightOf`) of the run's state when it was last measured; null if it has not been measured yet. */
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

/** Options for one slice of a run's execution. A slice ends when the run can only wait. */
export interface SliceOptions {
  readonly memory: DriveMemory;
  /** True if webhooks report when jobs end, so that polling is only a fallback. */
  readonly webhooks: boolean;
  /** Aborted when the slice has run long enough. It then starts nothing new. */
  readonly end: AbortSignal;
  /** Returns true if the engine must execute the command as a separate unit of work. */
  readonly isDelegated: (command: Command) => boolean;
  /**
   * Passes a command to the engine, unless the engine already has it. `place` is its position among the run's delegated
   * commands, starting at 0.
   */
  readonly delegate: (command: Command, place: number) => Promise<void>;
}

export interface DriveOptions {
  /** Options for executing only one slice. Default: the run is executed until it finishes, pauses or is stopped. */
  readonly slice?: SliceOptions;
  readonly tools: DriveTools;
  /** How long the lease lasts if the process no longer renews it, in milliseconds. */
  readonly leaseMs: number;
  /** True if the inbox may contain messages; false if it was empty when the lease was taken. */
  readonly hasMail: boolean;
  /** Aborted to stop gracefully: nothing new is submitted, and requests in progress are awaited. */
  readonly stop: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

export const DELEGATED_AGAIN_MS = 15 * 60_000;

/** Data that is passed from one slice to the next without being recorded as events. It is lost in a crash. */
export class DriveMemory {
  /**
   * Earliest time for retrying each command, in epoch milliseconds. `Infinity` means that the command is not retried in
   * the current execution.
   */
  readonly notBefore: Map<string, number>;
  /** Ids of submit commands whose request failed before it left this machine. */
  readonly unsent: Set<string>;
  readonly polls: Map<string, PlannedPoll>;
  /** When each command was handed to another worker, in epoch milliseconds, by command id. */
  readonly delegated: Map<string, number>;
  /** The process that holds the delegated commands in memory. Null if there are none or if they are stored durably. */
  worker: LeaseHolder | null;
  service: WatchMemo | null;
  spending: SpendingMemo | null;

  constructor(memo: Partial<StoredMemo> = {}) {
    const notBefore = (memo.notBefore ?? []).map(([id, at]) => [id, at ?? Number.POSITIVE_INFINITY] as const);
    this.notBefore = new Map(notBefore);
    this.unsent = new Set(memo.unsent);
    this.polls = new Map(memo.polls);
    this.delegated = new Map(memo.delegated);
    this.worker = memo.worker ?? null;
    if (this.worker !== null && isHolderDead(this.worker)) this.delegated.clear();
    if (this.delegated.size === 0) this.worker = null;
    this.service = memo.service ?? null;
    this.spending = memo.spending ?? null;
  }

  /**
   * Restores the memory that an earlier slice stored. With `isResumed`, clears the waiting times, so that commands are
   * retried at once.
   */
  static of(memo: Json, { isResumed }: { readonly isResumed: boolean }): DriveMemory {
    const stored = (memo ?? {}) as unknown as Partial<StoredMemo>;
    if (!isResumed) return new DriveMemory(stored);
    return new DriveMemory({ ...stored, notBefore: [], unsent: [], service: null, spending: null });
  }

  forgetDelegated(now: number): boolean {
    const late = [...this.delegated].filter(([, since]) => since + DELEGATED_AGAIN_MS <= now);
    for (const [id] of late) this.delegated.delete(id);
    return late.length > 0;
  }

  adopt({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    this.polls.delete(id);
  }

  hint({ step, attempt }: { readonly step: string; readonly attempt: number }): void {
    const id = `follow:${step}#${attempt}`;
    this.notBefore.delete(id);
    const planned = this.polls.get(id);
    this.polls.set(id, { expectedAt: null, ...planned, dueAt: HINTED, read: "job" });
  }

  left(seen: readonly [WatchMemo, SpendingMemo] | null): Json {
    if (seen === null) return new DriveMemory({ delegated: [...this.delegated], worker: this.worker }).toJson();
    [this.service, this.spending] = seen;
    return this.toJson();
  }

  toJson(): Json {
    const notBefore = [...this.notBefore].map(([id, at]) => [id, Number.isFinite(at) ? at : null] as const);
    const { service, spending } = this;
    const stored: StoredMemo = {
      notBefore,
      service,
      spending,
      unsent: [...this.unsent],
      polls: [...this.polls],
      delegated: [...this.delegated],
      worker: this.worker,
    };
    return stored as unknown as Json;
  }
}

interface StoredMemo {
  readonly notBefore: readonly (readonly [string, number | null])[];
  readonly unsent: readonly string[];
  readonly polls: readonly (readonly [string, PlannedPoll])[];
  readonly delegated: readonly (readonly [string, number])[];
  readonly worker?: LeaseHolder | null;
  readonly service: WatchMemo | null;
  readonly spending: SpendingMemo | null;
}
