import type { RunEvent } from "../../journal/events.ts";
import type { RunState, StepState } from "../../journal/state.ts";
import type { PlanStep } from "../../plan/plan.ts";
import type { DecisionBuilder } from "../decision-builder.ts";

/** What a running step is doing, where no job of it says more. */
export type StepActivity = "uploading" | "pricing" | "asking" | "working" | "choosing" | "planning" | "approval";

/** How a kind of step is run. Every kind is one file, registered in the index of this folder. */
export interface RunKind<S extends PlanStep> {
  /** Decides the next moves of one step. */
  decide(plan: S, step: StepState, builder: DecisionBuilder): void;
  readonly activity: StepActivity;
  /** The span of the timeline from its start to its end; null: its events, or nothing, make the spans. */
  readonly span: "upload" | "task" | "approval" | null;
  /** What a step that may begin comes to for free and without any work; null where that cannot be said. */
  foreseen(plan: S, state: RunState): readonly RunEvent[] | null;
}
