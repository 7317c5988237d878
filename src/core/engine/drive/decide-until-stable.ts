import type { PauseReason, RunEvent } from "../../journal/events.ts";
import { apply } from "../../journal/fold.ts";
import { isRunFinal, isStepFinal, type RunState } from "../../journal/state.ts";
import type { InboxEntry } from "../../journal/store.ts";
import { ownText } from "../../kit/clean-text.ts";
import type { Expected } from "../../kit/late-text.ts";
import type { PlanStep } from "../../plan/plan.ts";
import { type Command, commandId } from "../../run/command.ts";
import { committedMicros, type Headroom, minusHold } from "../../run/headroom.ts";
import { inboxEvents, inOrder } from "../../run/inbox.ts";
import type { Scheduler } from "../../run/scheduler.ts";
import { storedEvent } from "./run-writer.ts";

export interface Decided {
  readonly events: readonly RunEvent[];
  readonly commands: readonly Command[];
  readonly wakeAt: number | null;
  /** When to ask for late work again, of a run that is idle otherwise. */
  readonly lateAt: number | null;
}

/** A headroom as of an amount that this run had spent and reserved: what its bills release since then adds to it. */
export interface KnownHeadroom {
  readonly headroom: Headroom;
  readonly ownMicros: number;
}

export interface Surroundings {
  /** Answers of effects, not yet in the journal. */
  readonly answers: readonly RunEvent[];
  readonly inbox: readonly InboxEntry[];
  readonly headrooms: readonly KnownHeadroom[];
  readonly active: ReadonlySet<string>;
  readonly notBefore: ReadonlyMap<string, number>;
  readonly unsent: ReadonlySet<string>;
  /** Commands that a stop broke off: the next drive performs them. */
  readonly interrupted: ReadonlySet<string>;
  readonly now: number;
  /** Of the plan as it is then: a decision may change it. */
  order(): readonly PlanStep[];
  readonly expected: (step: PlanStep) => Expected;
  readonly asksForLate: boolean;
  readonly clockOffsetMs: number;
  readonly idempotencyWindowMs: number;
  /** This process was asked to stop the run. */
  readonly isStopped: boolean;
  stopIfRequested(): boolean;
}

/** One decision after the other until nothing more follows without the world's help; nothing is done yet. */
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
    // An immediate pause stands, a stop above all, whatever other commands ran into; so does the end of the run.
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
      // Still due: else the next decision would take the run for one that lacks nothing.
      for (const command of all) if (!isPerformed(command) && "step" in command) scheduler.ended(command.step);
      const { wakeAt, lateAt = null } = decision;
      return { events, commands: all.filter(isPerformed), wakeAt, lateAt };
    }
  }
}

/**
 * What costs nothing and begins or ends a step, which has ended while it was asked for: a price that is refused once what the step
 * needs has expired, an upload that nothing needs any more.
 */
function isTooLate(state: RunState, answer: RunEvent): boolean {
  const isOfEnd = answer.type === "step.started" || answer.type === "step.finished" || answer.type === "step.reused";
  return isOfEnd && isStepFinal(state.steps[answer.step]!.status);
}

/** What was answered, with the run reopened for the end of a job that it has ended without. */
export function withReopening(state: RunState, answers: readonly RunEvent[]): readonly RunEvent[] {
  const at = answers.findIndex((answer) => hasCome(state, answer));
  return at === -1 ? answers : answers.toSpliced(at, 0, { type: "run.reopened", byItself: true });
}

function hasCome(state: RunState, answer: RunEvent): boolean {
  const isEnd = answer.type === "job.completed" || answer.type === "job.failed" || answer.type === "job.unresolved";
  return isEnd && isRunFinal(state.status) && state.steps[answer.step]!.isGivenUp === true;
}

/** Pauses after which nothing is requested from the service any more; it continues the jobs that it has accepted. */
const atOnce: ReadonlySet<PauseReason> = new Set(["stopped", "unreachable", "misdirected", "credentials"]);

export function restsAtOnce({ status, pause }: RunState): boolean {
  return status === "paused" && pause !== null && atOnce.has(pause.reason);
}

/** A stop takes effect as a pause; jobs that the service has accepted continue there. */
function stopEvents(state: RunState): readonly RunEvent[] {
  if (isRunFinal(state.status) || state.pause?.reason === "stopped") return [];
  const start: readonly RunEvent[] = state.status === "planned" ? [{ type: "run.started" }] : [];
  return [...start, { type: "run.paused", reason: "stopped", message: ownText("stopped on request") }];
}
