import type { CatalogModel, FieldProblem, JsonSchema } from "../../plan/index.ts";
import type { Json } from "../../plan/plan.ts";
import { compile, type Validate } from "./ajv.ts";
import { explain } from "./explain.ts";
import { prepareSchema } from "./prepare.ts";

type Compiled = { readonly schema: JsonSchema; readonly validate: Validate } | { readonly defect: string };

const compiled = new WeakMap<JsonSchema, Compiled>();
/** By the schema's text: a catalog that is read again brings the same schemas as new objects. */
const compiledByText = new Map<string, Compiled>();
const MAX_KEPT = 500;

/**
 * Checks an input against the model's own schema; everything that is wrong, at once. The schema comes from outside: one
 * that cannot be compiled or evaluated is a problem of that model, never an error.
 */
export function validateInput(model: Pick<CatalogModel, "id" | "inputSchema">, input: Json): readonly FieldProblem[] {
  try {
    const created = compiledOf(model.inputSchema);
    if ("defect" in created) return [defective(model.id, created.defect)];
    return explain(created.validate(input), created.schema);
  } catch (error) {
    return [defective(model.id, describedBy(error))];
  }
}

function compiledOf(inputSchema: JsonSchema): Compiled {
  const known = compiled.get(inputSchema);
  if (known !== undefined) return known;
  const text = JSON.stringify(inputSchema);
  const created = compiledByText.get(text) ?? compileOnce(inputSchema);
  compiled.set(inputSchema, created);
  if (compiledByText.size >= MAX_KEPT) compiledByText.clear();
  compiledByText.set(text, created);
  return created;
}

function compileOnce(inputSchema: JsonSchema): Compiled {
  try {
    const schema = prepareSchema(inputSchema);
    return { schema, validate: compile(schema) };
  } catch (error) {
    return { defect: describedBy(error) };
  }
}

function defective(id: string, defect: string): FieldProblem {
  const message = `the input schema of ${id} cannot be used (${defect}), so nothing can be checked; choose another model`;
  return { code: "model-schema", field: "model", message };
}

function describedBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const compiledValues = new WeakMap<JsonSchema, Validate>();
/** A model that gets more mistakes than this at once repairs no better. */
const MAX_TOLD = 20;

/**
 * What is wrong with a value by a schema, one sentence each (`/scenes/0/prompt must be string`); empty when it meets it.
 * Throws when the schema itself cannot be compiledValues.
 */
export function valueProblems(schema: JsonSchema, value: Json): readonly string[] {
  const validate = compiledValues.get(schema) ?? compile(prepareSchema(schema));
  compiledValues.set(schema, validate);
  const mistakes = validate(value).map(({ instancePath, message, params }) => {
    const extra = "additionalProperty" in params ? ` (${JSON.stringify(params.additionalProperty)})` : "";
    const allowed = "allowedValues" in params ? ` (${JSON.stringify(params.allowedValues)})` : "";
    return `${instancePath === "" ? "the answer" : instancePath} ${message ?? "is wrong"}${extra}${allowed}`;
  });
  return [...new Set(mistakes)].slice(0, MAX_TOLD);
}
