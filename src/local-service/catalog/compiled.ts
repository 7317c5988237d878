import type { FieldProblem } from "../http/refusal.ts";
import { compileSchema } from "../validate/ajv.ts";
import { toProblems } from "../validate/problems.ts";
import type { ModelDefinition } from "./model.ts";

/** Checks an input and fills its defaults in place. */
export type InputCheck = (input: unknown) => readonly FieldProblem[];

/** A model with its schema made ready. */
export interface CompiledModel extends ModelDefinition {
  readonly check: InputCheck;
  /** Set when the schema does not compile: the model is then answered as unsupported, with this reason. */
  readonly defect: string | null;
}

function prepareCheck(model: ModelDefinition): { check: InputCheck; defect: string | null } {
  try {
    const validate = compileSchema(model.entry.input_schema);
    const check: InputCheck = (input) => (validate(input) ? [] : toProblems(validate.errors ?? [], "input"));
    return { check, defect: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { check: () => [], defect: `The input schema of ${model.entry.id} does not compile: ${reason}` };
  }
}

/** Never throws: a schema that does not compile disables this one model. */
export function compileModel(model: ModelDefinition): CompiledModel {
  return { ...model, ...prepareCheck(model) };
}
