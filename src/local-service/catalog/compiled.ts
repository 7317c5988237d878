import type { FamilyRule } from "../../families/index.ts";
import { type FieldProblem, problem } from "../http/refusal.ts";
import { compileSchema } from "../validate/ajv.ts";
import { type FamilyCheck, familyCheck } from "../validate/family-rules.ts";
import { toProblems } from "../validate/problems.ts";
import { TookTooLong, withinTime } from "../validate/time-limit.ts";
import type { ModelDefinition } from "./model.ts";

/** Validates an input and fills its defaults in place. */
export type InputCheck = (input: unknown) => readonly FieldProblem[];

/** A model with its compiled schema. */
export interface CompiledModel extends ModelDefinition {
  readonly check: InputCheck;
  /** Rules of the model's family that its schema does not state; applied before defaults are filled. */
  readonly checkFamily: FamilyCheck;
  /** Set when the schema does not compile; requests for the model are then refused as unsupported, with this reason. */
  readonly defect: string | null;
}

function prepareCheck(
  model: ModelDefinition,
  rules: readonly FamilyRule[],
): Pick<CompiledModel, "check" | "checkFamily" | "defect"> {
  try {
    const { validate, isLinear } = compileSchema(model.entry.input_schema);
    const now: InputCheck = (input) => (validate(input) ? [] : toProblems(validate.errors ?? [], "input"));
    const check: InputCheck = isLinear ? now : (input) => checkInTime(() => now(input));
    return { check, checkFamily: familyCheck(model.entry.input_schema, rules), defect: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const nothing = { check: () => [], checkFamily: () => [] };
    return { ...nothing, defect: `The input schema of ${model.entry.id} does not compile: ${reason}` };
  }
}

/** Limit of processor time, in milliseconds, for validating by a schema without a linear bound; see `withinTime`. */
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
export function compileModel(model: ModelDefinition, rules: readonly FamilyRule[]): CompiledModel {
  return { ...model, ...prepareCheck(model, rules) };
}
