import type { FieldProblem, JsonSchema } from "../../plan/index.ts";
import type { ErrorObject } from "./ajv.ts";
import { explainChoice, isChoice } from "./choice.ts";
import { conditionOf } from "./condition.ts";
import { sentenceOf } from "./sentence.ts";

/** Validation errors as problems of fields: one for each mistake, told by what to do, not by how schemas work. */
export function explain(errors: readonly ErrorObject[], root: JsonSchema): readonly FieldProblem[] {
  return withoutRepeats(explainAll(errors, root));
}

export function explainAll(errors: readonly ErrorObject[], root: JsonSchema): readonly FieldProblem[] {
  const choices = errors.filter(isChoice);
  return errors.flatMap((error) => {
    // "if" only repeats that what follows from it failed; branches of a choice are told by the choice.
    if (error.keyword === "if" || choices.some((choice) => isWithin(error, choice))) return [];
    const told = isChoice(error)
      ? explainChoice(
          error,
          errors.filter((other) => isWithin(other, error)),
          root,
        )
      : sentenceOf(error);
    const condition = conditionOf(error.schemaPath, root);
    return condition === null ? told : told.map((problem) => under(condition, problem));
  });
}

/** The condition goes before the suggestion, which is a sentence of its own. */
function under(condition: string, problem: FieldProblem): FieldProblem {
  const message = problem.message.replace(/(?=; did you mean |$)/, ` ${condition}`);
  return { ...problem, message };
}

/** True for an error that arose in a branch of a failed choice, about the same value or a part of it. */
function isWithin(error: ErrorObject, choice: ErrorObject): boolean {
  if (error === choice || !error.schemaPath.startsWith(`${choice.schemaPath}/`)) return false;
  return error.instancePath === choice.instancePath || error.instancePath.startsWith(`${choice.instancePath}/`);
}

/** One problem for a field and code. Of several lists of accepted values the shortest says most. */
function withoutRepeats(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const found = new Map<string, FieldProblem>();
  for (const problem of problems) {
    const key = `${problem.code} ${problem.field}`;
    const known = found.get(key);
    const isNarrower = (problem.allowed?.length ?? Infinity) < (known?.allowed?.length ?? Infinity);
    if (known === undefined || isNarrower) found.set(key, problem);
  }
  return [...found.values()];
}
