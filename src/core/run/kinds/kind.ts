import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** The phase of a running step without a job. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** Epoch milliseconds. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function stretch(from: number | null, to: number | null): Stretch | null {
  return from === null || to === null ? null : { from, to };
}

/** Returns the time from a step's start to its end, unless a try of it failed. */
export function wholeStep({ failures, startedAt, finishedAt }: StepState): Stretch | null {
  return failures.length > 0 ? null : stretch(startedAt, finishedAt);
}

/** How a kind of step is run. Each kind is one file, registered in the index of this folder. */
export interface RunKind<S extends PlanStep> {
  /** Decides the next actions of one step. */
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /**
   * The kind of its span in the timeline, from its start to its end; null if its events, or nothing, make the spans.
   */
  readonly span: "upload" | "task" | "approval" | null;
  /** Returns the inputs of its local code, so that other inputs count as other work; empty if it runs none. */
  localInputs(plan: S, state: RunState): unknown;
  /** Returns when its request, or its own code, was at work; null if unknown. */
  workedSpan(step: StepState): Stretch | null;
  /** Returns the result of a ready step that needs neither money nor work; null if it needs some. */
  freeResult(plan: S, state: RunState): readonly RunEvent[] | null;
}
