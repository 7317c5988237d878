import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** What a running step without a job is doing. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** A stretch of time, in epoch milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

/** Returns the time from a step's start to its end; null if one of its tries failed. */
export function wholeStep({ failures, startedAt, finishedAt }: StepState): Stretch | null {
  return failures.length > 0 ? null : stretch(startedAt, finishedAt);
}

/** How a kind of step is run. Each kind has one file, registered in the index of this folder. */
export interface RunKind<S extends PlanStep> {
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The timeline span that covers the whole step; null if the step's events determine the spans, or if it has none. */
  readonly span: "upload" | "task" | "approval" | null;
  /** Returns the inputs of the step's local code, which identify its work; empty if the step runs no code. */
  localInputs(plan: S, state: RunState): unknown;
  /** Returns when the step's request or local code was being executed; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** Returns the result of a ready step that needs no money and no work; null for any other step. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
