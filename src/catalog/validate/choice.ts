import type { FieldProblem, JsonSchema } from "../../plan/index.ts";
import { isSchema } from "../../plan/schema/schema.ts";
import type { ErrorObject } from "./ajv.ts";
import { explainAll } from "./explain.ts";
import { fieldOf, typeWords } from "./words.ts";

/** True for an error that says: none of these forms, or more than one. */
export function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === "oneOf" || keyword === "anyOf";
}

/** A failed choice in one go: which fields to choose from, which types, or what is wrong with the form that was meant. */
export function explainChoice(
  choice: ErrorObject,
  within: readonly ErrorObject[],
  root: JsonSchema,
): readonly FieldProblem[] {
  const field = fieldOf(choice.instancePath);
  const forms: readonly unknown[] = Array.isArray(choice.schema) ? choice.schema : [];
  const names = requiredOnly(forms);
  if (names !== null) return [chooseFields(choice, names)];
  if (isTwofold(choice))
    return [{ code: "choice", field, message: "fits more than one of its forms; give just one of them" }];
  const types = forms.flatMap((form) => (isSchema(form) && typeof form.type === "string" ? [form.type] : []));
  const isWrongType = forms.length === types.length && !types.some((type) => typeIs(type, choice.data));
  if (isWrongType) return [{ code: "type", field, message: `must be ${typeWords(types)}` }];
  const meant = nearestForm(choice, within, forms.length);
  if (meant.length === 0) return [{ code: "choice", field, message: "fits none of its forms" }];
  return explainAll(meant, root);
}

function isTwofold({ keyword, params }: ErrorObject): boolean {
  return keyword === "oneOf" && Array.isArray(params.passingSchemas) && params.passingSchemas.length > 1;
}

/** The errors of the form that the writer most likely meant: the right type, then the fewest mistakes. */
function nearestForm(choice: ErrorObject, within: readonly ErrorObject[], forms: number): readonly ErrorObject[] {
  const byForm = Array.from({ length: forms }, (_, index) =>
    within.filter(({ schemaPath }) => schemaPath.startsWith(`${choice.schemaPath}/${index}/`)),
  ).filter((errors) => errors.length > 0);
  return byForm.sort((a, b) => distance(a, choice) - distance(b, choice))[0] ?? [];
}

function distance(errors: readonly ErrorObject[], { instancePath }: ErrorObject): number {
  const weights = errors.map((error) => {
    if (error.keyword === "type" && error.instancePath === instancePath) return 100;
    // A constant that differs marks another form: `source: "url"` is not a broken `source: "asset"`.
    return error.keyword === "const" ? 10 : 1;
  });
  return weights.reduce((sum, weight) => sum + weight, 0);
}

/** `[{required: ["a"]}, {required: ["b"]}]` → `["a", "b"]`; null when the forms say more than that. */
function requiredOnly(forms: readonly unknown[]): readonly string[] | null {
  const names = forms.map((form) => {
    if (!isSchema(form) || !Array.isArray(form.required)) return null;
    const rest = Object.keys(form).filter((key) => !["required", "not", "title", "description"].includes(key));
    return rest.length === 0 ? form.required.map(String).join(" and ") : null;
  });
  return names.length > 0 && names.every((name) => name !== null) ? names : null;
}

function chooseFields(choice: ErrorObject, names: readonly string[]): FieldProblem {
  const given = names.filter((name) => name.split(" and ").every((one) => isSchema(choice.data) && one in choice.data));
  const count = choice.keyword === "oneOf" ? "exactly" : "at least";
  const now = given.length === 0 ? "none is given" : `${given.join(" and ")} are given`;
  const message = `give ${count} one of ${names.join(", ")}; ${now}`;
  return { code: "choice", field: fieldOf(choice.instancePath), message, allowed: names };
}

function typeIs(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "null") return value === null;
  if (type === "object") return isSchema(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
