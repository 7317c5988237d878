import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** The activity of a running step without a job. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** Epoch milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

/** Returns null if one of the step's tries failed. */
export function wholeStep({ failures, startedAt, finishedAt }: StepState): Stretch | null {
  return failures.length > 0 ? null : stretch(startedAt, finishedAt);
}

export interface RunKind<S extends PlanStep> {
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The timeline span that covers the whole step; null if events determine the spans, or if there is none. */
  readonly span: "upload" | "task" | "approval" | null;
  /** Returns the inputs of the step's local code, which identify its work; empty if the step runs no code. */
  localInputs(plan: S, state: RunState): unknown;
  /** Returns when the step's request or local code was being executed; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** Returns the result of a ready step that needs neither money nor work; null for any other step. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
