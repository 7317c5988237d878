import type { PlanStep, Reference } from "../plan.ts";
import { referencesOf } from "../references.ts";

/** Every reference that a step uses, beside that of its condition. */
export function usedReferences(step: PlanStep): readonly Reference["$ref"][] {
  switch (step.kind) {
    case "job":
    case "chat":
    case "task":
      return referencesOf(step.input);
    case "upload":
      return [];
    case "approve":
      return step.shows.map(({ $ref }) => $ref);
    case "pick":
      return step.among.map(({ $ref }) => $ref);
    case "expand":
      return [step.on.$ref];
    default:
      return step satisfies never;
  }
}
