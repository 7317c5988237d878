import { type FieldProblem, problem } from "../http/refusal.ts";
import { compileSchema } from "../validate/ajv.ts";
import { toProblems } from "../validate/problems.ts";
import { TookTooLong, withinTime } from "../validate/time-limit.ts";
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
    const { validate, isLinear } = compileSchema(model.entry.input_schema);
    const now: InputCheck = (input) => (validate(input) ? [] : toProblems(validate.errors ?? [], "input"));
    return { check: isLinear ? now : (input) => checkInTime(() => now(input)), defect: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { check: () => [], defect: `The input schema of ${model.entry.id} does not compile: ${reason}` };
  }
}

/** Longest that a schema which may take for ever holds up the service, in milliseconds; it is tried twice. */
const MAX_CHECK_MS = 100;

function checkInTime(check: () => readonly FieldProblem[]): readonly FieldProblem[] {
  try {
    return withinTime(MAX_CHECK_MS, check);
  } catch (error) {
    if (!(error instanceof TookTooLong)) throw error;
    return [problem("input", "takes too long to check against the schema of this model", "deadline")];
  }
}

/** Never throws: a schema that does not compile disables this one model. */
export function compileModel(model: ModelDefinition): CompiledModel {
  return { ...model, ...prepareCheck(model) };
}
