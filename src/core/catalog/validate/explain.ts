import { didYouMean } from "../../kit/lookup.ts";
import { kindOfValue, shown, typeWords } from "../../kit/value-text.ts";
import type { FieldProblem, JsonSchema } from "../../plan/index.ts";
import { branches, isSchema, localRef } from "../../plan/schema.ts";
import type { ErrorObject } from "./ajv.ts";

/**
 * Returns the condition under which a part of a schema applies, such as `when quality is "pro"`; null if it always
 * applies.
 */
export function conditionOf(schemaPath: string, root: JsonSchema): string | null {
  const at = Math.max(schemaPath.lastIndexOf("/then/"), schemaPath.lastIndexOf("/else/"));
  if (at < 0) return null;
  const condition = localRef(root, schemaPath.slice(0, at))?.if;
  const text = isSchema(condition) ? describe(condition) : null;
  if (text === null) return "with the current values of the other fields";
  return schemaPath.startsWith("/else/", at) ? `unless ${text}` : `when ${text}`;
}

function describe(schema: JsonSchema): string | null {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const parts: (string | null)[] = [
    ...Object.entries(properties).map(([name, value]) => (isSchema(value) ? describeValue(name, value) : null)),
    ...required.filter((name) => !Object.hasOwn(properties, name)).map((name) => `${name} is given`),
    ...branches(schema, "allOf").map(describe),
  ];
  if (isSchema(schema.not)) parts.push(describeNot(schema.not));
  for (const keyword of ["anyOf", "oneOf"]) {
    if (schema[keyword] !== undefined) parts.push(join(branches(schema, keyword).map(describe), " or "));
  }
  return join(parts, " and ");
}

function describeNot(schema: JsonSchema): string | null {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (required.length === 1 && Object.keys(schema).length === 1) return `${required[0]} is not given`;
  const text = describe(schema);
  return text === null ? null : `not (${text})`;
}

function describeValue(name: string, schema: JsonSchema): string | null {
  if (schema.const !== undefined) return `${name} is ${JSON.stringify(schema.const)}`;
  if (Array.isArray(schema.enum)) return `${name} is ${schema.enum.map((item) => JSON.stringify(item)).join(" or ")}`;
  if (isSchema(schema.not) && schema.not.const !== undefined)
    return `${name} is not ${JSON.stringify(schema.not.const)}`;
  return Object.keys(schema).length === 0 ? `${name} is given` : null;
}

function join(parts: readonly (string | null)[], by: string): string | null {
  const texts = parts.filter((part) => part !== null);
  return texts.length === 0 || texts.length < parts.length ? null : texts.join(by);
}

export function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === "oneOf" || keyword === "anyOf";
}

/** Explains a failed `oneOf` or `anyOf`: the possible forms, or the mistakes in the form that was probably intended. */
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
    return [{ code: "choice", field, message: "matches several of the accepted forms, but must match only one" }];
  const types = forms.flatMap((form) => (isSchema(form) && typeof form.type === "string" ? [form.type] : []));
  const isWrongType = forms.length === types.length && !types.some((type) => typeIs(type, choice.data));
  if (isWrongType) return [{ code: "type", field, message: `must be ${typeWords(types)}` }];
  const meant = nearestForm(choice, within, forms.length);
  if (meant.length === 0) return [{ code: "choice", field, message: "matches none of the accepted forms" }];
  return explainAll(meant, root);
}

function isTwofold({ keyword, params }: ErrorObject): boolean {
  return keyword === "oneOf" && Array.isArray(params.passingSchemas) && params.passingSchemas.length > 1;
}

/** Returns the errors of the closest `anyOf` or `oneOf` branch: the one with the right type and the fewest errors. */
function nearestForm(choice: ErrorObject, within: readonly ErrorObject[], forms: number): readonly ErrorObject[] {
  const byForm = Array.from({ length: forms }, (_, index) =>
    within.filter(({ schemaPath }) => schemaPath.startsWith(`${choice.schemaPath}/${index}/`)),
  ).filter((errors) => errors.length > 0);
  return byForm.sort((a, b) => distance(a, choice) - distance(b, choice))[0] ?? [];
}

function distance(errors: readonly ErrorObject[], { instancePath }: ErrorObject): number {
  const weights = errors.map((error) => {
    if (error.keyword === "type" && error.instancePath === instancePath) return 100;
    // A different constant suggests that another form was intended.
    return error.keyword === "const" ? 10 : 1;
  });
  return weights.reduce((sum, weight) => sum + weight, 0);
}

function requiredOnly(forms: readonly unknown[]): readonly string[] | null {
  const names = forms.map((form) => {
    if (!isSchema(form) || !Array.isArray(form.required)) return null;
    const rest = Object.keys(form).filter((key) => !["required", "not", "title", "description"].includes(key));
    return rest.length === 0 ? form.required.map(String).join(" and ") : null;
  });
  return names.length > 0 && names.every((name) => name !== null) ? names : null;
}

function chooseFields(choice: ErrorObject, names: readonly string[]): FieldProblem {
  const given = names.filter((name) =>
    name.split(" and ").every((field) => isSchema(choice.data) && field in choice.data),
  );
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

export function explain(errors: readonly ErrorObject[], root: JsonSchema): readonly FieldProblem[] {
  return withoutRepeats(explainAll(errors, root));
}

export function explainAll(errors: readonly ErrorObject[], root: JsonSchema): readonly FieldProblem[] {
  const choices = errors.filter(isChoice);
  return errors.flatMap((error) => {
    // Skip errors that are already part of another error.
    if (error.keyword === "if" || choices.some((choice) => isWithin(error, choice))) return [];
    const explained = isChoice(error)
      ? explainChoice(
          error,
          errors.filter((other) => isWithin(other, error)),
          root,
        )
      : sentenceOf(error);
    const condition = conditionOf(error.schemaPath, root);
    return condition === null ? explained : explained.map((problem) => under(condition, problem));
  });
}

function under(condition: string, problem: FieldProblem): FieldProblem {
  const message = problem.message.replace(/(?=; did you mean |$)/, ` ${condition}`);
  return { ...problem, message };
}

function isWithin(error: ErrorObject, choice: ErrorObject): boolean {
  if (error === choice || !error.schemaPath.startsWith(`${choice.schemaPath}/`)) return false;
  return error.instancePath === choice.instancePath || error.instancePath.startsWith(`${choice.instancePath}/`);
}

/** Keeps one problem per field and code: the one with the shortest list of allowed values. */
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

function fieldOf(instancePath: string): string {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), "input");
}

const MAX_LISTED = 24;

export function listed(values: readonly string[]): string {
  const more = values.length > MAX_LISTED ? ` … (${values.length} in total)` : "";
  return values.slice(0, MAX_LISTED).join(", ") + more;
}

function sentenceOf(error: ErrorObject): readonly FieldProblem[] {
  const field = fieldOf(error.instancePath);
  const params: Readonly<Record<string, unknown>> = error.params;
  const say = (code: string, message: string, allowed?: readonly string[]): readonly FieldProblem[] => [
    { code, field, message, ...(allowed && { allowed }) },
  ];
  switch (error.keyword) {
    case "additionalProperties":
    case "unevaluatedProperties":
      return [unknownField(error, field, String(params.additionalProperty ?? params.unevaluatedProperty))];
    case "required":
      return [{ code: "required", field: `${field}.${params.missingProperty}`, message: "is required" }];
    case "dependentRequired":
    case "dependencies":
      return [dependent(field, params)];
    case "enum":
      return say("enum", ...notListed(error.data, asTexts(params.allowedValues)));
    case "const":
      return say("enum", ...notListed(error.data, asTexts([params.allowedValue])));
    case "type":
      return say("type", `must be ${typeWords([params.type].flat().map(String))}, not ${kindOfValue(error.data)}`);
    case "pattern":
      return say("pattern", patternMessage(error.data, String(params.pattern)));
    case "not":
      return say("combination", notMessage(error.schema));
    case "false schema":
      return say("combination", "is not allowed");
    case "discriminator":
      return say("type", "must be the handle of a step, or an asset in the account");
    default:
      return say(error.keyword, boundMessage(error, params));
  }
}

function unknownField(error: ErrorObject, field: string, name: string): FieldProblem {
  const allowed = Object.keys(propertiesOf(error.parentSchema));
  const suggestion = didYouMean(name, allowed);
  const hint = suggestion ?? (allowed.length === 0 ? "no fields are accepted here" : `fields are: ${listed(allowed)}`);
  return { code: "unknown-field", field: `${field}.${name}`, message: `unknown field; ${hint}`, allowed };
}

function propertiesOf(schema: JsonSchema | undefined): JsonSchema {
  return isSchema(schema?.properties) ? schema.properties : {};
}

function dependent(field: string, params: Readonly<Record<string, unknown>>): FieldProblem {
  const message = `is required when ${params.property} is given`;
  return { code: "required", field: `${field}.${params.missingProperty}`, message };
}

function asTexts(values: unknown): readonly string[] {
  return Array.isArray(values)
    ? values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    : [];
}

function notListed(value: unknown, allowed: readonly string[]): [message: string, allowed: readonly string[]] {
  const suggestion = typeof value === "string" ? didYouMean(value, allowed) : null;
  const only = allowed.length === 1 ? `must be ${allowed[0]}, not ${shown(value)}` : null;
  return [
    only ?? `${shown(value)} is not one of ${listed(allowed)}${suggestion === null ? "" : `; ${suggestion}`}`,
    allowed,
  ];
}

function patternMessage(value: unknown, pattern: string): string {
  if (/^\[\^\\s(?:\\x[0-9a-f]{2}-?|\\u[0-9a-f]{4}-?)*\]$/i.test(pattern)) return "needs at least one visible character";
  return `${shown(value)} does not match the pattern ${pattern}`;
}

function notMessage(schema: unknown): string {
  const required = isSchema(schema) && Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (required.length === 0) return "has a value that is not allowed";
  return required.length === 1 ? `${required[0]} is not allowed` : `${required.join(" and ")} cannot be combined`;
}

function boundMessage({ keyword, data, message }: ErrorObject, params: Readonly<Record<string, unknown>>): string {
  const { limit } = params;
  const size = typeof data === "string" ? [...data].length : Array.isArray(data) ? data.length : 0;
  switch (keyword) {
    case "minimum":
      return `must be at least ${limit}, not ${shown(data)}`;
    case "maximum":
      return `must be at most ${limit}, not ${shown(data)}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}, not ${shown(data)}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}, not ${shown(data)}`;
    case "multipleOf":
      return `must be a multiple of ${params.multipleOf}, not ${shown(data)}`;
    case "minLength":
      return `has ${size} characters; at least ${limit} are needed`;
    case "maxLength":
      return `has ${size} characters; at most ${limit} are allowed`;
    case "minItems":
      return `has ${size} items; at least ${limit} are needed`;
    case "maxItems":
      return `has ${size} items; at most ${limit} are allowed`;
    case "uniqueItems":
      return `items ${params.j} and ${params.i} are the same; each item must be different`;
    case "format":
      return `${shown(data)} is not a valid ${params.format}`;
    default:
      return message ?? "is not allowed";
  }
}
