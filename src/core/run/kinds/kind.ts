import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** What a running step without a job is doing. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** A time span in epoch milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

/** Returns the time span from the step's start to its end; null if one of its tries failed. */
export function wholeStep({ failures, startedAt, finishedAt }: StepState): Stretch | null {
  return failures.length > 0 ? null : stretch(startedAt, finishedAt);
}

export interface RunKind<S extends PlanStep> {
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The timeline span that covers the whole step; null if there is none. */
  readonly span: "upload" | "task" | "approval" | null;
  /** Returns the inputs of the step's local code; empty if it runs none. */
  localInputs(plan: S, state: RunState): unknown;
  /** Returns the time span in which the step's request or local code was executed; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** Returns the events that complete a ready step for free and without work; null if that is impossible. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
