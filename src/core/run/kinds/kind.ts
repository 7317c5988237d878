import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** Phase of a running step that has no job to tell it. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** Epoch milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

/** From the start of a step to its end, unless tries of it failed. */
export function wholeStep({ failures, startedAt, finishedAt }: StepState): Stretch | null {
  return failures.length > 0 ? null : stretch(startedAt, finishedAt);
}

/** How a kind of step is run. Every kind is one file, registered in the index of this folder. */
export interface RunKind<S extends PlanStep> {
  /** Decides the next moves of one step. */
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The span of the timeline from its start to its end; null: its events, or nothing, make the spans. */
  readonly span: "upload" | "task" | "approval" | null;
  /** What its local code works on, so that other inputs make other work; empty where it runs none. */
  localInputs(plan: S, state: RunState): unknown;
  /** When its request, or its own code, was at work; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** The result of a ready step that needs neither money nor work; null if it needs some. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
