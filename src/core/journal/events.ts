import { IllegalEventError } from "./errors.ts";
import { type ChatEvent, chatEvents } from "./events/chat.ts";
import type { RunPlanned } from "./events/facts.ts";
import { type JobEvent, jobEvents } from "./events/job.ts";
import { type PlanEvent, planEvents } from "./events/plan.ts";
import { type RunLevelEvent, runLevelEvents } from "./events/run.ts";
import { type EventSpec, type EventTable, Fold } from "./events/spec.ts";
import { type StepEvent, stepEvents } from "./events/step.ts";
import { type SubmitEvent, submitEvents } from "./events/submit.ts";
import { newStep, type RunState } from "./state.ts";

export type * from "./events/facts.ts";
export type { SpendingReached } from "./events/run.ts";

export const EVENT_VERSION = 1;

/** An event of a run. Money is in micro-dollars, and times are in epoch milliseconds. */
export type RunEvent = RunLevelEvent | PlanEvent | StepEvent | SubmitEvent | JobEvent | ChatEvent;

/** An event as stored in the journal. */
export interface StoredEvent {
  readonly runId: string;
  /** Sequence number of the event in its run, counted from 1 without gaps. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly event: RunEvent;
}

const table: EventTable<RunEvent> = {
  ...runLevelEvents,
  ...planEvents,
  ...stepEvents,
  ...submitEvents,
  ...jobEvents,
  ...chatEvents,
};

export function specOf<E extends RunEvent>(event: E): EventSpec<E> {
  return table[event.type] as unknown as EventSpec<E>;
}

export function isEventType(type: string): type is RunEvent["type"] {
  return Object.hasOwn(table, type);
}

export function eventText(event: RunEvent): string | null {
  return specOf(event).line?.(event).text ?? null;
}

export function liveText(event: RunEvent): string | null {
  const line = specOf(event).line?.(event) ?? null;
  if (line === null || line.isDetail) return null;
  return "step" in event ? `${event.step}: ${line.text}` : line.text;
}

/** Version of the snapshot format. Snapshots with another version are ignored. */
export const FOLD_VERSION = 1;

/**
 * The `run.planned` events that began runs. If a state's `planned` is in this set, the run's plan and terms have never
 * changed.
 */
const asPlanned = new WeakSet<RunPlanned>();

export function isAsPlanned(planned: RunPlanned): boolean {
  return asPlanned.has(planned);
}

export function fold(events: Iterable<StoredEvent>): RunState | null {
  let state: RunState | null = null;
  for (const stored of events) {
    if (state !== null) apply(state, stored);
    else if (stored.event.type === "run.planned") state = newRun(stored.runId, stored.event, stored.at, stored.seq);
    else throw new IllegalEventError(stored.runId, stored.seq, stored.event.type, "(nothing)");
  }
  return state;
}

export function newRun(runId: string, planned: RunPlanned, at: number, seq = 1): RunState {
  const state = runWithoutSteps(runId, planned, at, seq);
  for (const { path } of planned.plan.steps) state.steps[path] = newStep(path);
  return state;
}

export function runWithoutSteps(runId: string, planned: RunPlanned, at: number, seq = 1): RunState {
  asPlanned.add(planned);
  return {
    runId,
    seq,
    epoch: 0,
    drivenSince: null,
    planned,
    status: "planned",
    message: null,
    pause: null,
    outage: null,
    createdAt: at,
    startedAt: null,
    finishedAt: null,
    activeTime: { ms: 0, since: null, lastAt: at },
    // A step may have any name, even `constructor`.
    steps: Object.create(null) as RunState["steps"],
    losses: 0,
    removedSteps: [],
    formerNames: {},
    reruns: [],
    rerunQuoteMicros: 0,
    spentMicros: 0,
    heldMicros: 0,
    unconfirmedMicros: 0,
    overcharges: {},
    files: [],
    budgetMicros: planned.budgetMicros,
    maxUnquotedMicros: planned.maxUnquotedMicros,
    agreed: planned.agreed ?? null,
  };
}

export function apply(state: RunState, stored: StoredEvent): void {
  specOf(stored.event).apply(new Fold(state, stored), stored.event);
  state.activeTime.lastAt = stored.at;
  state.seq = stored.seq;
}
