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
  const made = compiledOf(model.inputSchema);
  if ("defect" in made) return [defective(model.id, made.defect)];
  try {
    return explain(made.validate(input), made.schema);
  } catch (error) {
    return [defective(model.id, saidBy(error))];
  }
}

function compiledOf(inputSchema: JsonSchema): Compiled {
  const known = compiled.get(inputSchema);
  if (known !== undefined) return known;
  const text = JSON.stringify(inputSchema);
  const made = compiledByText.get(text) ?? compileOnce(inputSchema);
  compiled.set(inputSchema, made);
  if (compiledByText.size >= MAX_KEPT) compiledByText.clear();
  compiledByText.set(text, made);
  return made;
}

function compileOnce(inputSchema: JsonSchema): Compiled {
  try {
    const schema = prepareSchema(inputSchema);
    return { schema, validate: compile(schema) };
  } catch (error) {
    return { defect: saidBy(error) };
  }
}

function defective(id: string, defect: string): FieldProblem {
  const message = `the input schema of ${id} cannot be used (${defect}), so nothing can be checked; choose another model`;
  return { code: "model-schema", field: "model", message };
}

function saidBy(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
