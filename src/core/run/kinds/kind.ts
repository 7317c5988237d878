import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

export function wholeStep({ attempts, startedAt, finishedAt }: StepState): Stretch | null {
  return attempts.length > 0 ? null : stretch(startedAt, finishedAt);
}

export interface RunKind<S extends PlanStep> {
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  readonly span: "upload" | "task" | "approval" | null;
  localInputs(plan: S, state: RunState): unknown;
  /** Returns when the step's request or local code began and ended; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** Returns events that complete the step without any work; null if work is needed. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
