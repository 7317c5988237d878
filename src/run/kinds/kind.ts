import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** Phase of a running step that has no job to tell it. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** How a kind of step is run. Every kind is one file, registered in the index of this folder. */
export interface RunKind<S extends PlanStep> {
  /** Decides the next moves of one step. */
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The span of the timeline from its start to its end; null: its events, or nothing, make the spans. */
  readonly span: "upload" | "task" | "approval" | null;
  /** The result of a ready step that needs neither money nor work; null if it needs some. */
  foreseen(plan: S, state: RunState): readonly RunEvent[] | null;
}
