import type { PlanStep } from "../plan.ts";

export interface DiagramOptions {
  /** A second line under the name of a step, such as its price. Default: its model, or what it uploads. */
  readonly note?: (step: PlanStep) => string;
  /** Steps to stand out, such as those of the critical path. */
  readonly highlighted?: readonly string[];
  /** A class for the group of a step, such as its status, for a page that has its own style. Letters, digits and `-`. */
  readonly classOf?: (step: PlanStep) => string;
  /** True: no style and no ground of its own, because the page that holds the picture brings them. SVG only. */
  readonly unstyled?: boolean;
}

export function noteOf(step: PlanStep, options: DiagramOptions): string {
  if (options.note !== undefined) return options.note(step);
  switch (step.kind) {
    case "job":
    case "chat":
      return step.model;
    case "upload":
      return `${step.yields} file`;
    case "task":
      return step.files.length === 0 ? "task" : `task: ${step.files.map(({ name }) => name).join(", ")}`;
    case "approve":
      return step.choose ? "a person chooses" : "a person approves";
    case "pick":
      return step.by === "first" ? "the first made" : "the best by score";
    case "expand":
      return `up to ${step.maxSteps} steps`;
    default:
      return step satisfies never;
  }
}
