import { own } from "../../kit/own.ts";
import type { FieldProblem, JsonSchema } from "../../plan/index.ts";
import { isSchema } from "../../plan/schema/schema.ts";
import { didYouMean } from "../../plan/suggest.ts";
import type { ErrorObject } from "./ajv.ts";

/** A JSON pointer below the input as a dotted path: `/images/0/url` → `input.images[0].url`. */
export function fieldOf(instancePath: string): string {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), "input");
}

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** JSON types in words: `text or a list`. */
export function typeWords(types: readonly string[]): string {
  return [...new Set(types)].map((type) => own(TYPES, type) ?? type).join(" or ");
}

/** What a value is, in words: `text`, `a list`. */
export function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number";
  return TYPES[typeof value] ?? typeof value;
}

/** A value as it is shown in a message; long ones are cut. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

const MAX_LISTED = 24;

/** A closed set of values as a list; long ones are cut. */
export function listed(values: readonly string[]): string {
  const more = values.length > MAX_LISTED ? ` … (${values.length} in all)` : "";
  return values.slice(0, MAX_LISTED).join(", ") + more;
}

/** What one validation error says about one field. */
export function sentenceOf(error: ErrorObject): readonly FieldProblem[] {
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
      return say("combination", "cannot be given");
    case "discriminator":
      return say("type", "must be the handle of a step, or an asset of the account");
    default:
      return say(error.keyword, boundMessage(error, params));
  }
}

function unknownField(error: ErrorObject, field: string, name: string): FieldProblem {
  const allowed = Object.keys(propertiesOf(error.parentSchema));
  const suggestion = didYouMean(name, allowed);
  const hint = suggestion ?? (allowed.length === 0 ? "it takes no fields" : `fields are: ${listed(allowed)}`);
  return { code: "unknown-field", field: `${field}.${name}`, message: `there is no such field; ${hint}`, allowed };
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

/** Patterns of the form "one character that is neither white space nor control" need no regular expression. */
function patternMessage(value: unknown, pattern: string): string {
  if (/^\[\^\\s(?:\\x[0-9a-f]{2}-?|\\u[0-9a-f]{4}-?)*\]$/i.test(pattern)) return "needs at least one visible character";
  return `${shown(value)} does not match the pattern ${pattern}`;
}

function notMessage(schema: unknown): string {
  const required = isSchema(schema) && Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (required.length === 0) return "has a value that is excluded";
  return required.length === 1
    ? `${required[0]} cannot be given`
    : `${required.join(" and ")} cannot be given together`;
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
      return `items ${params.j} and ${params.i} are the same; each may stand there once`;
    case "format":
      return `${shown(data)} is no valid ${params.format}`;
    default:
      return message ?? "is not allowed";
  }
}
