import { planStep, type RunState } from "../journal/state.ts";
import { traitsOf } from "../plan/index.ts";
import { schemaAt } from "../plan/kinds/kind.ts";
import type { Decision, Json, Reference } from "../plan/plan.ts";
import { changeable } from "../run/kinds/approve.ts";
import { referencedValue } from "../run/resolve.ts";

export interface ChangeableValue {
  readonly value: Json;
  readonly schema: Json | null;
}

/** Returns the value that a person can edit when approving, or a message that says why there is none. */
export function changeableValue(state: RunState, decision: Decision): ChangeableValue | string {
  const shown = changeable(decision, undefined);
  const value = shown === null ? undefined : referencedValue(state, shown);
  return shown === null || value === undefined
    ? nothingChangeable(decision)
    : { value, schema: schemaOf(state, shown) };
}

export function nothingChangeable({ path }: Decision): string {
  return `${path} does not show a single value that can be edited.`;
}

export function schemaOf(state: RunState, { step, at = [], output }: Reference["$ref"]): Json | null {
  const plan = planStep(state, step);
  if (plan.kind === "chat") return plan.schema === null ? { type: "string" } : schemaAt(plan.schema, at).schema;
  const { standsFor } = traitsOf(plan);
  const inner = standsFor[state.steps[step]?.chosen?.index ?? 0]?.$ref;
  if (inner === undefined || output === "all") return null;
  return schemaOf(state, { ...inner, at: [...(inner.at ?? []), ...at] });
}
