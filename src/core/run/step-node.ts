import type TinyQueue from "tinyqueue";
import type { PlanStep, Reference } from "../plan/plan.ts";

/** A step with what a decision needs to know of the steps around it. */
export class StepNode {
  readonly plan: PlanStep;
  /** Not in the plan any more: only what it paid for is collected. */
  readonly isRemoved: boolean;
  /** Steps whose decision depends on this one. */
  readers: StepNode[] = [];
  /** What other steps read of it, each once. */
  reads: Reference["$ref"][] = [];
  /** Sources of this step that have not ended: what it needs, and the inner steps of an expansion. */
  openSources = 0;
  /** Needed steps that use it; one more for a root of the plan. */
  users = 0;
  /** Not made for other steps alone. */
  isRoot = false;
  isNeeded = true;
  isFinal = false;
  /** See `conditionsOf`. */
  conditions: readonly string[] = [];
  holdsSlot = false;
  committedMicros = 0;
  /** Position in the schedule. */
  rank = 0;
  /** To be decided at the next turn. */
  isDue = false;
  /** When it is to be decided without an event; null: never. */
  dueAt: number | null = null;
  /** The queue of blocked steps that it is in. */
  queue: TinyQueue<StepNode> | null = null;

  constructor(plan: PlanStep, isRemoved: boolean) {
    this.plan = plan;
    this.isRemoved = isRemoved;
  }

  get path(): string {
    return this.plan.path;
  }
}
