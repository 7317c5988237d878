import type { Condition, Json, PlanStep } from "./plan.ts";
import { isReference } from "./references.ts";

/** Steps by the name that they have now. */
export type Names = ReadonlyMap<string, string>;

/** A step as it would stand in a plan in which other steps have new names; its own name too. */
export function renameIn(step: PlanStep, names: Names): PlanStep {
  if (!names.has(step.path) && !step.needs.some((path) => names.has(path))) return step;
  const { path, needs, when, ...own } = step;
  const nameOf = (name: string) => names.get(name) ?? name;
  const renamed = {
    ...(renameReferences(own as unknown as Json, names) as object),
    path: nameOf(path),
    needs: needs.map(nameOf).sort(),
    ...(when !== undefined && { when: renameCondition(when, nameOf) }),
  };
  // A step is plain JSON; only names within it were replaced.
  return renamed as unknown as PlanStep;
}

function renameReferences(value: Json, names: Names): Json {
  if (typeof value !== "object" || value === null) return value;
  if (isReference(value)) {
    const { $ref } = value;
    return { $ref: { ...$ref, step: names.get($ref.step) ?? $ref.step } };
  }
  if (Array.isArray(value)) return value.map((item) => renameReferences(item, names));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renameReferences(item, names)]));
}

function renameCondition(when: Condition, nameOf: (name: string) => string): Condition {
  if ("failed" in when) return { failed: nameOf(when.failed) };
  return { ...when, ref: { ...when.ref, step: nameOf(when.ref.step) } };
}
