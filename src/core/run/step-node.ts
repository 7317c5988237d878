import type TinyQueue from "tinyqueue";
import type { PlanStep, Reference } from "../plan/plan.ts";

/** A step with everything about its neighbours that a decision needs. */
export class StepNode {
  readonly plan: PlanStep;
  /** True if no longer in the plan: only its paid results are collected. */
  readonly isRemoved: boolean;
  /** Steps whose decision depends on this one. */
  readers: StepNode[] = [];
  /** What other steps read of it, without repeats. */
  reads: Reference["$ref"][] = [];
  /** Number of unfinished sources: steps it needs, and inner steps of an expansion. */
  openSources = 0;
  /** Number of needed steps that use it, plus one for a root of the plan. */
  users = 0;
  /** True if it is wanted for itself, not only for other steps. */
  isRoot = false;
  isNeeded = true;
  isFinal = false;
  conditions: readonly string[] = [];
  holdsSlot = false;
  committedMicros = 0;
  rank = 0;
  isDue = false;
  /** When to decide it without an event; null: never. */
  dueAt: number | null = null;
  queue: TinyQueue<StepNode> | null = null;

  constructor(plan: PlanStep, isRemoved: boolean) {
    this.plan = plan;
    this.isRemoved = isRemoved;
  }

  get path(): string {
    return this.plan.path;
  }
}
