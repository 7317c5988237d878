import type { PlanStep } from "../plan.ts";

export interface DiagramOptions {
  /** A second line under the name of a step, such as its price. Default: its model, or what it uploads. */
  readonly note?: (step: PlanStep) => string;
  /** Steps to stand out, such as those of the critical path. */
  readonly highlighted?: readonly string[];
}

export function noteOf(step: PlanStep, options: DiagramOptions): string {
  if (options.note !== undefined) return options.note(step);
  return step.kind === "job" ? step.model : `${step.yields} file`;
}
