import type { AskedPrice, PauseReason, RunEvent, StepEnd } from "../journal/events.ts";
import { lastAttempt, type RunState, type StepState, thrownBy } from "../journal/state.ts";
import { ownText } from "../kit/clean-text.ts";
import type { Expected } from "../kit/duration.ts";
import type { PlanStep } from "../plan/plan.ts";
import type { Slots } from "../plan/slots.ts";
import { type Command, commandId, localCommandIds } from "./command.ts";
import {
  type AskedHold,
  type Headroom,
  isUnagreed,
  type Obstacle,
  type Pause,
  type Refusal,
  Reservations,
  unagreed,
} from "./money.ts";
import { decidingSteps, whyPruned } from "./pruning.ts";
import { whyNever } from "./readiness.ts";
import type { RunIndex } from "./run-index.ts";

const NO_WAIT: StepWait = { blockedBy: null, wakeAt: null, isWatching: false };

type EndedWhy = "skippedByCondition" | "pruned" | "isGivenUp";

export class DecisionBuilder implements Decision {
  readonly events: RunEvent[] = [];
  readonly commands: Command[] = [];
  wakeAt: number | null = null;
  lateAt: number | null = null;
  readonly state: RunState;
  readonly context: DecideContext;
  readonly index: RunIndex;
  mayStart: boolean;
  readonly stoppedBy: string | null;
  mayChangeNeeds = false;
  readonly #money: Reservations;
  /** True if a step is waiting for money. Less urgent steps must then not reserve any. */
  #isMoneyAwaited = false;
  #refusal: Refusal | null = null;
  readonly #asks: AskedPrice[] = [];
  readonly #slots: Slots;
  waitsFor: StepWait = NO_WAIT;

  constructor(state: RunState, context: DecideContext, index: RunIndex) {
    this.state = state;
    this.context = context;
    this.index = index;
    this.#slots = index.slots.copy();
    this.#money = new Reservations(state, context, index);
    this.stoppedBy = index.stoppedBy;
    this.mayStart = state.status === "running" && this.stoppedBy === null;
  }

  get hasMoney(): boolean {
    return !this.#isMoneyAwaited;
  }

  isNeeded(path: string): boolean {
    return this.index.isNeeded(path);
  }

  mayRetry({ path }: PlanStep): boolean {
    return this.stoppedBy === null && this.isNeeded(path);
  }

  get hasPaused(): boolean {
    return this.events.some(({ type }) => type === "run.paused");
  }

  isSlotFree(plan: PlanStep): boolean {
    if (!this.#slots.free(plan)) return false;
    return !this.#money.isBillAwaited(plan);
  }

  /** Returns whether a slot is free. If not, the step is reconsidered once a slot becomes free. */
  hasSlot(plan: PlanStep): boolean {
    if (this.isSlotFree(plan)) return true;
    this.waitsFor = { ...this.waitsFor, blockedBy: "slots" };
    return false;
  }

  takeSlot(plan: PlanStep): void {
    this.#slots.take(plan);
  }

  /** Makes every later decision check the step again. For steps that can continue without a new event. */
  watch(): void {
    this.waitsFor = { ...this.waitsFor, isWatching: true };
  }

  prune(step: StepState): void {
    const usersOf = (path: string) => this.index.usersOf(path);
    this.finish(step, "skipped", whyPruned(this.state, step.path, usersOf), "pruned");
  }

  start(step: StepState): void {
    if (step.status === "waiting") this.events.push({ type: "step.started", step: step.path });
  }

  finish(step: StepState, status: StepEnd, reason: string | null = null, why: EndedWhy | null = null): void {
    const { path } = step;
    this.mayChangeNeeds ||= status !== "succeeded" || decidingSteps(this.state.planned.plan).has(path);
    const error = status === "failed" ? thrownBy(step) : null;
    const forCallers = error?.forCallers === true ? { forCallers: error.message } : {};
    const details = { ...(why !== null && { [why]: true }), ...forCallers };
    this.events.push({ type: "step.finished", step: path, status, reason, ...details });
    // The slot stays taken until the next decision, because more urgent steps may wait for this step's end.
    const node = this.index.nodes.get(path);
    if (step.status === "running" && node !== undefined && !node.holdsSlot) this.#slots.take(node.plan);
  }

  next(): void {
    this.waitsFor = NO_WAIT;
  }

  skipIfImpossible(plan: PlanStep, step: StepState): void {
    const never = whyNever(this.state, plan);
    if (never !== null) this.skipOrFail(step, never.reason, never.skippedByCondition);
  }

  skipOrFail(step: StepState, reason: string, skippedByCondition: boolean): void {
    const isSkipped = step.status === "waiting" || skippedByCondition;
    this.finish(step, isSkipped ? "skipped" : "failed", reason, skippedByCondition ? "skippedByCondition" : null);
  }

  withoutNewWork(decide: () => void): void {
    const { mayStart } = this;
    this.mayStart = false;
    decide();
    this.mayStart = mayStart;
  }

  pause(reason: PauseReason, message: string): void {
    if (this.mayStart) this.pauseNow(reason, message);
  }

  pauseNow(reason: PauseReason, message: string, more: Pick<Pause, "late"> = {}): void {
    this.mayStart = false;
    this.events.push({ type: "run.paused", reason, message: ownText(message), ...more });
  }

  /** Returns whether the amount may be reserved. If not, the step waits or fails, or the run is paused. */
  checkBudget(step: StepState, holdMicros: number, reason = "", payer: AskedHold["payer"] = "wallet"): boolean {
    if (isUnagreed(this.state, step.path, holdMicros)) {
      this.#asks.push({ step: step.path, costMicros: holdMicros });
      this.watch();
      return false;
    }
    if (this.hasMoney) {
      const obstacle = this.#money.obstacle({ path: step.path, holdMicros, reason, payer });
      if (obstacle === null) return true;
      this.#meet(obstacle);
    }
    if (!this.hasMoney) this.waitsFor = { ...this.waitsFor, blockedBy: "money" };
    return false;
  }

  /** Fails the step or pauses the run, unless work in progress may still free up enough money. */
  #meet(obstacle: Obstacle): void {
    if ("refusal" in obstacle && !obstacle.mayFreeUp) return this.#refuse(obstacle.refusal);
    this.#isMoneyAwaited = true;
    if ("refusal" in obstacle) this.#refusal = obstacle.refusal;
    else this.wakeNoLater(obstacle.askAgainAt);
  }

  /** Applies a deferred refusal: fails the step or pauses the run. Call this once no step is in progress. */
  refuseWaiting(): void {
    if (this.#refusal !== null) this.#refuse(this.#refusal);
    else if (this.#asks.length > 0) this.#refuse({ pause: unagreed(this.state, this.#asks) });
  }

  reserve(plan: PlanStep & { readonly model: string }, step: StepState, holdMicros: number): void {
    const { path, model } = plan;
    this.takeSlot(plan);
    this.start(step);
    this.#money.reserve(path, model, holdMicros);
  }

  dueOrWake(id: string): boolean {
    const notBefore = this.context.notBefore.get(id) ?? 0;
    if (notBefore <= this.context.now) return true;
    if (notBefore !== Number.POSITIVE_INFINITY) this.wake(notBefore);
    return false;
  }

  isActive(id: string): boolean {
    return this.context.active.has(id);
  }

  hasActiveCommand(step: StepState): boolean {
    return localCommandIds(step).some((id) => this.isActive(id));
  }

  isIdle(step: StepState): boolean {
    const { kind = "job", phase = "planned" } = lastAttempt(step) ?? {};
    // Only the phase of a job shows whether its request was sent. Other steps may be between two attempts.
    const isSent = kind === "job" && phase !== "planned" && phase !== "priced";
    const isUnsent = step.status === "running" && step.expanded === null && !isSent;
    return (step.status === "waiting" || isUnsent) && !this.hasActiveCommand(step);
  }

  issue(command: Command): void {
    const id = commandId(command);
    if (!this.isActive(id) && this.dueOrWake(id)) this.commands.push(command);
  }

  wake(at: number): void {
    this.wakeNoLater(at);
    this.waitsFor = { ...this.waitsFor, wakeAt: Math.min(this.waitsFor.wakeAt ?? at, at) };
  }

  wakeNoLater(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? at, at);
  }

  #refuse(refusal: Refusal): void {
    if ("failing" in refusal) {
      const step = this.state.steps[refusal.failing]!;
      this.start(step);
      this.finish(step, "failed", refusal.reason);
    } else if (this.mayStart) {
      this.mayStart = false;
      this.events.push(refusal.pause);
    }
  }
}

export interface DecideContext {
  readonly now: number;
  /** All steps in order of priority. Steps on the critical path come first. */
  readonly order: readonly PlanStep[];
  readonly active: Pick<ReadonlySet<string>, "has" | "size">;
  /** When each command may be retried, in epoch milliseconds; infinity if never. */
  readonly notBefore: ReadonlyMap<string, number>;
  readonly unsent?: ReadonlySet<string>;
  /** How far the service's clock is ahead of this machine's, in milliseconds. */
  readonly clockOffsetMs?: number;
  /** How long a submit request may be resent, in milliseconds. After that, a person must decide. */
  readonly idempotencyWindowMs: number;
  readonly expected?: (step: PlanStep) => Expected;
  /** Whether to poll overdue requests even if the run has paused or ended. True in a worker. */
  readonly asksForLate?: boolean;
  readonly headrooms?: readonly Headroom[];
}

export interface Decision {
  readonly events: readonly RunEvent[];
  /** Commands to start once the events are durable. */
  readonly commands: readonly Command[];
  /** When to decide again even if no new event arrives; null to wait for an event. */
  readonly wakeAt: number | null;
  readonly lateAt?: number | null;
}

interface StepWait {
  readonly blockedBy: "slots" | "money" | null;
  readonly wakeAt: number | null;
  readonly isWatching: boolean;
}
