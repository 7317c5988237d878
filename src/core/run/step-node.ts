import type TinyQueue from "tinyqueue";
import type { PlanStep, Reference } from "../plan/plan.ts";

export class StepNode {
  readonly plan: PlanStep;
  readonly isRemoved: boolean;
  readers: StepNode[] = [];
  reads: Reference["$ref"][] = [];
  /** Number of unfinished steps that this step needs, including the inner steps of an expansion. */
  openSources = 0;
  /** Number of needed steps that use this step, plus one if it is a root of the plan. */
  users = 0;
  /** True if the step's result is wanted for itself, not only for other steps. */
  isRoot = false;
  isNeeded = true;
  isFinal = false;
  conditions: readonly string[] = [];
  holdsSlot = false;
  committedMicros = 0;
  rank = 0;
  isDue = false;
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
