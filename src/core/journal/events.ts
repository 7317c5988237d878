import { type ChatEvent, chatEvents } from "./events/chat.ts";
import { type JobEvent, jobEvents } from "./events/job.ts";
import { type PlanEvent, planEvents } from "./events/plan.ts";
import { type RunLevelEvent, runLevelEvents } from "./events/run.ts";

export type { SpendingReached } from "./events/run.ts";

import type { EventSpec, EventTable } from "./events/spec.ts";
import { type StepEvent, stepEvents } from "./events/step.ts";
import { type SubmitEvent, submitEvents } from "./events/submit.ts";

export type * from "./events/facts.ts";

/** Version of the event shapes; stored with every event. */
export const EVENT_VERSION = 1;

/**
 * Everything that can happen to a run: the one union that journal, fold, CLI, dashboard and logs share. `step` is a
 * step path, `attempt` counts from 1, money is micro-dollars, instants are epoch milliseconds.
 */
export type RunEvent = RunLevelEvent | PlanEvent | StepEvent | SubmitEvent | JobEvent | ChatEvent;

/** An event as the journal holds it. */
export interface StoredEvent {
  readonly runId: string;
  /** Counts from 1 within the run, without gaps. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly version: number;
  readonly event: RunEvent;
}

/** What each type of event means to each reader of the journal; the compiler keeps it whole. */
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

/** What there is to say of an event beside its type and its step, for people; null where there is nothing. */
export function eventText(event: RunEvent): string | null {
  return specOf(event).line?.(event).text ?? null;
}

/** The line of an event in the live output of a run; null for what only a full listing shows. */
export function liveText(event: RunEvent): string | null {
  const line = specOf(event).line?.(event) ?? null;
  if (line === null || line.isDetail) return null;
  return "step" in event ? `${event.step}: ${line.text}` : line.text;
}
