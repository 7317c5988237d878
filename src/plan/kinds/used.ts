import type { PlanStep, Reference } from "../plan.ts";
import { referencesOf } from "../references.ts";

type Ref = Reference["$ref"];

/** Inputs may be large, and a run asks at every turn. */
const known = new WeakMap<PlanStep, readonly Ref[]>();

/** Every reference that a step uses, beside that of its condition. */
export function usedReferences(step: PlanStep): readonly Ref[] {
  const before = known.get(step);
  if (before !== undefined) return before;
  const found = referencesIn(step);
  known.set(step, found);
  return found;
}

function referencesIn(step: PlanStep): readonly Ref[] {
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
