import { type ChatEvent, chatEvents } from "./events/chat.ts";
import { type JobEvent, jobEvents } from "./events/job.ts";
import { type PlanEvent, planEvents } from "./events/plan.ts";
import { type RunLevelEvent, runLevelEvents } from "./events/run.ts";

export type { SpendingReached } from "./events/run.ts";

import type { EventSpec, EventTable } from "./events/spec.ts";
import { type StepEvent, stepEvents } from "./events/step.ts";
import { type SubmitEvent, submitEvents } from "./events/submit.ts";

export type * from "./events/facts.ts";

export const EVENT_VERSION = 1;

/** An event of a run. Money is in micro-dollars, and times are in epoch milliseconds. */
export type RunEvent = RunLevelEvent | PlanEvent | StepEvent | SubmitEvent | JobEvent | ChatEvent;

/** An event as stored in the journal. */
export interface StoredEvent {
  readonly runId: string;
  /** Counts from 1 within the run, without gaps. */
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
