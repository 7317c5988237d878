import { ownText } from "../clean-text.ts";
import type { PauseReason, RunEvent, StepEnd } from "../journal/events.ts";
import { type AttemptState, lastAttempt, lastChat, type RunState, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { formatUsd } from "../money.ts";
import type { FailurePolicy, PlanStep } from "../plan/plan.ts";
import type { Slots } from "../plan/slots.ts";
import { type Command, commandId, localCommandIds } from "./command.ts";
import type { DecideContext, Decision } from "./decision.ts";
import { type Headroom, minusHold, pauseFor } from "./headroom.ts";
import { decidingSteps } from "./pruning.ts";
import { whyNever } from "./readiness.ts";
import { slotsOf } from "./slots.ts";

/**
 * Holds that will be bills soon: of jobs and chats under way, and of jobs whose cost is still asked for. A bill may be less
 * than its hold, so that what does not fit now may fit then. `within` is a path prefix; empty for the whole run.
 */
export function inFlightMicros(state: RunState, within: string, notBefore: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const step of Object.values(state.steps)) {
    if (!step.path.startsWith(within)) continue;
    const attempt = lastAttempt(step);
    if (attempt !== null && isInFlight(step.path, attempt, notBefore)) sum += attempt.holdMicros;
    const chat = lastChat(step);
    if (chat?.phase === "sent") sum += chat.holdMicros;
  }
  return sum;
}

/** Whether a charge of the run may be on its way to the wallet. */
export function isSubmitting(state: RunState): boolean {
  return Object.values(state.steps).some((step) => {
    const attempt = lastAttempt(step);
    return (attempt !== null && jobPhases.submitting.has(attempt.phase)) || lastChat(step)?.phase === "sent";
  });
}

function isInFlight(path: string, { n, phase, money }: AttemptState, notBefore: ReadonlyMap<string, number>): boolean {
  if (money !== "held") return false;
  if (jobPhases.inFlight.has(phase)) return true;
  // Its bill never arrived, and it is no longer polled.
  const isGivenUp = notBefore.get(`settle:${path}#${n}`) === Number.POSITIVE_INFINITY;
  return (phase === "completed" || phase === "failed") && !isGivenUp;
}

/** Why a step was skipped, where nothing went wrong with it. */
type SkippedWhy = "skippedByCondition" | "pruned";

/** Collects the events and commands of one decision while the kinds of steps are evaluated. */
export class DecisionBuilder implements Decision {
  readonly events: RunEvent[] = [];
  readonly commands: Command[] = [];
  wakeAt: number | null = null;
  readonly state: RunState;
  readonly context: DecideContext;
  readonly slots: Slots;
  /** Whether new work may start. Jobs that the service has accepted are always completed. */
  mayStart: boolean;
  /** The step whose failure stops the run, by its policy. */
  readonly stoppedBy: string | null;
  /** Whether a step ended in this decision so that others may no longer be needed. */
  mayChangeNeeds = false;
  #committedMicros: number;
  #reservedMicros = 0;
  readonly #reserved: { readonly path: string; readonly holdMicros: number }[] = [];
  /** Waits for money that may be released, which nothing less urgent may use; the call refuses the wait for good. */
  #refuse: (() => void) | null = null;
  readonly #groupMicros = new Map<string, number>();

  constructor(state: RunState, context: DecideContext) {
    this.state = state;
    this.context = context;
    this.slots = slotsOf(state, context.order);
    this.#committedMicros = state.spentMicros + state.heldMicros + state.unconfirmedMicros;
    this.stoppedBy = context.order.find((step) => stopsTheRun(state, step))?.path ?? null;
    this.mayStart = state.status === "running" && this.stoppedBy === null;
  }

  start(step: StepState): void {
    if (step.status === "waiting") this.events.push({ type: "step.started", step: step.path });
  }

  finish(step: StepState, status: StepEnd, reason: string | null = null, why: SkippedWhy | null = null): void {
    const { path } = step;
    this.mayChangeNeeds ||= status !== "succeeded" || decidingSteps(this.state.planned.plan).has(path);
    this.events.push({ type: "step.finished", step: path, status, reason, ...(why !== null && { [why]: true }) });
  }

  /** Skips a step that can never start, even if no slot is free for it; others wait for its end. */
  skipIfImpossible(plan: PlanStep, step: StepState): void {
    const never = whyNever(this.state, plan);
    if (never !== null) this.skipOrFail(step, never.reason, never.skippedByCondition);
  }

  /** Ends a step that can no longer succeed: skipped before its start, failed after it. */
  skipOrFail(step: StepState, reason: string, skippedByCondition: boolean): void {
    this.finish(
      step,
      step.status === "waiting" ? "skipped" : "failed",
      reason,
      skippedByCondition ? "skippedByCondition" : null,
    );
  }

  /** Decides a step that may start no new work: its jobs at the service are completed. */
  withoutNewWork(decide: () => void): void {
    const { mayStart } = this;
    this.mayStart = false;
    decide();
    this.mayStart = mayStart;
  }

  /**
   * Unless no new work may start anyway: work in flight is completed first. `requiredMicros`: the limit that would
   * have sufficed.
   */
  pause(reason: PauseReason, message: string, requiredMicros?: number): void {
    if (this.mayStart) this.pauseNow(reason, message, requiredMicros);
  }

  pauseNow(reason: PauseReason, message: string, requiredMicros?: number): void {
    this.mayStart = false;
    const why = ownText(message);
    this.events.push({
      type: "run.paused",
      reason,
      message: why,
      ...(requiredMicros !== undefined && { requiredMicros }),
    });
  }

  /**
   * Whether this amount may be reserved. If not, even if all holds in flight were released: pauses the
   * run at its own budget, fails the step at that of its group.
   */
  checkBudget(step: StepState, holdMicros: number, holdReason = ""): boolean {
    if (this.#refuse !== null) return false;
    const group = this.#groupWithout(step.path, holdMicros);
    if (group !== null) {
      const surely = group.committed - this.#inFlight(`${group.prefix}/`);
      const why = `needs ${formatUsd(holdMicros)} USD${holdReason}; ${group.prefix} may cost ${formatUsd(group.maxCostMicros)} USD, of which ${formatUsd(group.committed)} are spent or reserved`;
      return this.#refuseNowOrLater(surely + holdMicros <= group.maxCostMicros, () => {
        this.start(step);
        this.finish(step, "failed", why);
      });
    }
    if (!this.#checkHeadroom(step.path, holdMicros)) return false;
    const budget = this.state.budgetMicros;
    if (budget === null || this.#committedMicros + holdMicros <= budget) return true;
    const surely = this.#committedMicros - this.#inFlight("");
    const why = `${step.path} needs ${formatUsd(holdMicros)} USD${holdReason}; ${formatUsd(this.#committedMicros)} of the budget of ${formatUsd(budget)} USD are spent or reserved.`;
    return this.#refuseNowOrLater(surely + holdMicros <= budget, () =>
      this.pause("budget", why, this.#committedMicros + holdMicros),
    );
  }

  /** For when nothing is in flight: refuses what waits for money to be released. */
  refuseWaiting(): void {
    this.#refuse?.();
  }

  /** Counts a hold that was just decided. */
  reserve(path: string, holdMicros: number): void {
    this.#committedMicros += holdMicros;
    this.#reservedMicros += holdMicros;
    this.#reserved.push({ path, holdMicros });
    for (const prefix of this.#groupsOf(path)) {
      this.#groupMicros.set(prefix, this.#committedIn(prefix) + holdMicros);
    }
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

  /** Whether a command is active for a step of which the service has accepted nothing. */
  hasActiveCommand(step: StepState): boolean {
    return localCommandIds(step).some((id) => this.isActive(id));
  }

  /** It has nothing at the service and no active command. */
  isIdle(step: StepState): boolean {
    if (this.hasActiveCommand(step)) return false;
    if (step.status === "waiting") return true;
    if (step.status !== "running" || step.expanded !== null) return false;
    const phase = lastAttempt(step)?.phase ?? "planned";
    return phase === "planned" || phase === "priced";
  }

  issue(command: Command): void {
    const id = commandId(command);
    if (!this.isActive(id) && this.dueOrWake(id)) this.commands.push(command);
  }

  wake(at: number): void {
    this.wakeAt = Math.min(this.wakeAt ?? at, at);
  }

  /** Whether other runs and the wallet leave enough; pauses the run where waiting would not help. */
  #checkHeadroom(path: string, holdMicros: number): boolean {
    for (const known of this.context.headrooms ?? []) {
      const headroom = minusHold(known, this.#reservedMicros);
      if (holdMicros <= headroom.headroomMicros) continue;
      if (headroom.limit === "later") this.wake(headroom.askAgainAt);
      const pause = pauseFor(headroom, path, holdMicros);
      return this.#refuseNowOrLater(this.#mayFreeUp(headroom, holdMicros), () => {
        if (pause === null || !this.mayStart) return;
        this.mayStart = false;
        this.events.push(pause);
      });
    }
    return true;
  }

  #mayFreeUp(headroom: Headroom, holdMicros: number): boolean {
    if (headroom.limit === "cap") return holdMicros <= headroom.headroomMicros + this.#inFlight("");
    return headroom.limit === "floor" && (this.#reservedMicros > 0 || isSubmitting(this.state));
  }

  /** Not enough money: refuses now, or only once waiting has not helped. */
  #refuseNowOrLater(mayFreeUp: boolean, refuse: () => void): false {
    if (mayFreeUp) this.#refuse = refuse;
    else refuse();
    return false;
  }

  /** Reserved for what will be billed soon, perhaps for less. */
  #inFlight(within: string): number {
    const begun = this.#reserved.filter(({ path }) => path.startsWith(within));
    const beginning = begun.reduce((sum, { holdMicros }) => sum + holdMicros, 0);
    return beginning + inFlightMicros(this.state, within, this.context.notBefore);
  }

  #groupWithout(path: string, holdMicros: number) {
    for (const prefix of this.#groupsOf(path)) {
      const { maxCostMicros } = this.state.planned.plan.groups![prefix]!;
      const committed = this.#committedIn(prefix);
      if (committed + holdMicros > maxCostMicros) return { prefix, maxCostMicros, committed };
    }
    return null;
  }

  #groupsOf(path: string): readonly string[] {
    const { groups } = this.state.planned.plan;
    if (groups === undefined) return [];
    return Object.keys(groups).filter((prefix) => path.startsWith(`${prefix}/`));
  }

  #committedIn(prefix: string): number {
    let sum = this.#groupMicros.get(prefix);
    if (sum !== undefined) return sum;
    sum = 0;
    for (const step of Object.values(this.state.steps)) if (step.path.startsWith(`${prefix}/`)) sum += committed(step);
    this.#groupMicros.set(prefix, sum);
    return sum;
  }
}

/** Spent, held and unconfirmed on one step. */
function committed(step: StepState): number {
  let sum = 0;
  for (const { money, holdMicros, costMicros } of step.attempts)
    sum += money === "held" ? holdMicros : (costMicros ?? 0);
  for (const chat of step.chats) sum += chat.costMicros ?? chat.holdMicros;
  return sum;
}

function stopsTheRun(state: RunState, plan: PlanStep): boolean {
  return state.steps[plan.path]!.status === "failed" && policyOf(state, plan) === "failFast";
}

function policyOf(state: RunState, plan: PlanStep): FailurePolicy | undefined {
  const own = "policy" in plan ? plan.policy.onFailure : undefined;
  return own ?? state.planned.plan.onFailure;
}
