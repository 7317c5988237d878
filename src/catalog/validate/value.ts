import type { JsonSchema } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { compile, type Validate } from "./ajv.ts";
import { prepareSchema } from "./prepare.ts";

const compiled = new WeakMap<JsonSchema, Validate>();
/** A model that gets more mistakes than this at once repairs no better. */
const MAX_TOLD = 20;

/**
 * What is wrong with a value by a schema, one sentence each (`/scenes/0/prompt must be string`); empty when it meets it.
 * Throws when the schema itself cannot be compiled.
 */
export function valueProblems(schema: JsonSchema, value: Json): readonly string[] {
  const validate = compiled.get(schema) ?? compile(prepareSchema(schema));
  compiled.set(schema, validate);
  const told = validate(value).map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${JSON.stringify(params.additionalProperty)})` : "";
    const allowed = "allowedValues" in params ? ` (${JSON.stringify(params.allowedValues)})` : "";
    return `${instancePath === "" ? "the answer" : instancePath} ${message ?? "is wrong"}${extra}${allowed}`;
  });
  return [...new Set(told)].slice(0, MAX_TOLD);
}
