import { apply, type PauseReason, type RunEvent } from "../../journal/events.ts";
import { isRunFinal, isStepFinal, type RunState } from "../../journal/state.ts";
import type { InboxEntry } from "../../journal/store.ts";
import { ownText } from "../../kit/clean-text.ts";
import type { Expected } from "../../kit/duration.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { type Command, commandId } from "../../run/command.ts";
import { inboxEvents, inOrder } from "../../run/inbox.ts";
import { committedMicros, type Headroom, minusHold } from "../../run/money.ts";
import type { Scheduler } from "../../run/scheduler.ts";
import { storedEvent } from "./run-writer.ts";

export interface Decided {
  readonly events: readonly RunEvent[];
  readonly commands: readonly Command[];
  readonly wakeAt: number | null;
  /** When to poll again for late requests if the run is otherwise idle; null if there are none. */
  readonly lateAt: number | null;
}

export interface KnownHeadroom {
  readonly headroom: Headroom;
  readonly ownMicros: number;
}

export interface Surroundings {
  readonly answers: readonly RunEvent[];
  readonly inbox: readonly InboxEntry[];
  readonly headrooms: readonly KnownHeadroom[];
  readonly active: ReadonlySet<string>;
  readonly notBefore: ReadonlyMap<string, number>;
  readonly unsent: ReadonlySet<string>;
  readonly interrupted: ReadonlySet<string>;
  readonly now: number;
  order(): readonly PlanStep[];
  readonly expected: (step: PlanStep) => Expected;
  readonly asksForLate: boolean;
  readonly clockOffsetMs: number;
  readonly idempotencyWindowMs: number;
  readonly isStopped: boolean;
  stopIfRequested(): boolean;
}

/** Makes decisions until the run needs an outside event to continue. Does not execute any commands. */
export function decideUntilStable(state: RunState, scheduler: Scheduler, around: Surroundings): Decided {
  const { now, notBefore, unsent, expected, asksForLate, clockOffsetMs, idempotencyWindowMs } = around;
  const events: RunEvent[] = [];
  const commands = new Map<string, Command>();
  const take = (more: readonly RunEvent[]) => {
    for (const event of more) {
      apply(state, storedEvent(state.runId, state.seq, now, event));
      scheduler.note(event);
      events.push(event);
    }
  };
  for (const answer of withReopening(state, around.answers)) {
    // Ignore further pauses once the run has ended or has been paused at once, for example by a stop.
    const isOutdone = answer.type === "run.paused" && (restsAtOnce(state) || isRunFinal(state.status));
    if (isOutdone) continue;
    if (isTooLate(state, answer)) continue;
    if (answer.type === "run.paused" && state.status === "planned") take([{ type: "run.started" }]);
    take([answer]);
  }
  for (const entry of inOrder(around.inbox)) take(inboxEvents(state, entry));
  if (around.isStopped) take(stopEvents(state));
  const active = {
    has: (id: string) => around.active.has(id) || commands.has(id),
    get size() {
      return around.active.size + commands.size;
    },
  };
  for (;;) {
    const decision = scheduler.decide({
      now,
      active,
      notBefore,
      unsent,
      expected,
      asksForLate,
      clockOffsetMs,
      idempotencyWindowMs,
      order: around.order(),
      headrooms: around.headrooms.map((known) => minusHold(known.headroom, committedMicros(state) - known.ownMicros)),
    });
    take(decision.events);
    for (const command of decision.commands) commands.set(commandId(command), command);
    if (decision.events.length === 0) {
      const stopping = around.stopIfRequested();
      const isPerformed = (command: Command) =>
        !stopping || (command.type === "place" && !around.interrupted.has(commandId(command)));
      const all = [...commands.values()];
      // Keep these commands due. Otherwise, the next decision would consider the run complete.
      for (const command of all) if (!isPerformed(command) && "step" in command) scheduler.ended(command.step);
      const { wakeAt, lateAt = null } = decision;
      return { events, commands: all.filter(isPerformed), wakeAt, lateAt };
    }
  }
}

/**
 * Returns true for an event that starts or finishes an already finished step. These events record no payment, so they
 * can be dropped.
 */
function isTooLate(state: RunState, answer: RunEvent): boolean {
  const isOfEnd = answer.type === "step.started" || answer.type === "step.finished" || answer.type === "step.reused";
  return isOfEnd && isStepFinal(state.steps[answer.step]!.status);
}

/**
 * If an ended run receives the result of a job that it was no longer waiting for, adds an event that reopens the run.
 */
export function withReopening(state: RunState, answers: readonly RunEvent[]): readonly RunEvent[] {
  const at = answers.findIndex((answer) => hasCome(state, answer));
  return at === -1 ? answers : answers.toSpliced(at, 0, { type: "run.reopened", byItself: true });
}

function hasCome(state: RunState, answer: RunEvent): boolean {
  const isEnd = answer.type === "job.completed" || answer.type === "job.failed" || answer.type === "job.unresolved";
  return isEnd && isRunFinal(state.status) && state.steps[answer.step]!.isGivenUp === true;
}

/** Pause reasons after which no more requests are sent. */
const atOnce: ReadonlySet<PauseReason> = new Set(["stopped", "unreachable", "misdirected", "credentials"]);

export function restsAtOnce({ status, pause }: RunState): boolean {
  return status === "paused" && pause !== null && atOnce.has(pause.reason);
}

function stopEvents(state: RunState): readonly RunEvent[] {
  if (isRunFinal(state.status) || state.pause?.reason === "stopped") return [];
  const start: readonly RunEvent[] = state.status === "planned" ? [{ type: "run.started" }] : [];
  return [...start, { type: "run.paused", reason: "stopped", message: ownText("stopped on request") }];
}
