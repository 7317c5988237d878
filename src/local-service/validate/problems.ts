import type { ErrorObject } from "ajv/dist/2020.js";
import { type FieldProblem, flagged, problem, refuse } from "../http/refusal.ts";
import { isRecord, pointerNames } from "../json.ts";

/** Joins names to a field path. With the root `input`, `images`, `0` and `url` become `input.images[0].url`. */
export function fieldPath(root: string, names: readonly string[]): string {
  const step = (path: string, name: string) => (/^\d+$/.test(name) ? `${path}[${name}]` : `${path}.${name}`);
  return names.reduce(step, root);
}

function schemaObjects(node: unknown, found = new Set<unknown>()): Set<unknown> {
  if (typeof node !== "object" || node === null || found.has(node)) return found;
  found.add(node);
  for (const child of Object.values(node)) schemaObjects(child, found);
  return found;
}

/** Removes the errors inside the branches of a failed `oneOf` or `anyOf`, which counts as a single problem. */
function withoutBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  const branches = new Set<unknown>();
  for (const error of errors) {
    if (error.keyword === "oneOf" || error.keyword === "anyOf") schemaObjects(error.schema, branches);
  }
  return errors.filter((error) => error.keyword !== "if" && !branches.has(error.parentSchema));
}

/**
 * Returns the names of alternative required fields: `a` and `b` for `[{required: [a]}, {required: [b]}]`. Returns null
 * for other schemas.
 */
function alternatives(schema: unknown): string[] | null {
  if (!Array.isArray(schema)) return null;
  const names = schema.map((branch: unknown) => {
    const required = isRecord(branch) && Object.keys(branch).length === 1 ? branch["required"] : undefined;
    return Array.isArray(required) && required.length === 1 ? String(required[0]) : null;
  });
  return names.every((name) => name !== null) ? names : null;
}

function choiceProblem(error: ErrorObject, at: string): FieldProblem {
  const names = alternatives(error.schema);
  if (!names) return problem(at, "must match exactly one of the accepted forms", error.keyword);
  const present = names.filter((name) => isRecord(error.data) && name in error.data);
  const list = names.join(", ");
  if (present.length === 0) return problem(`${at}.${names[0]}`, `one of ${list} is required`, "required");
  return problem(`${at}.${present.at(-1)}`, `only one of ${list} is allowed`, "exclusive");
}

const texts = (values: unknown): string[] => (Array.isArray(values) ? values : [values]).map(String);

function acceptedNames(error: ErrorObject): string[] {
  const properties = error.parentSchema?.["properties"];
  return isRecord(properties) ? Object.keys(properties) : [];
}

function acceptedValues(error: ErrorObject, name: string): string[] | null {
  const properties = error.parentSchema?.["properties"];
  const field = isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (!isRecord(field)) return null;
  const values = field["enum"] ?? field["const"];
  return values === undefined ? null : texts(values);
}

function toProblem(error: ErrorObject, root: string): FieldProblem {
  const at = fieldPath(root, pointerNames(error.instancePath));
  const params: Readonly<Record<string, unknown>> = error.params;
  switch (error.keyword) {
    case "required": {
      const name = String(params["missingProperty"]);
      return problem(`${at}.${name}`, "is required", "required", acceptedValues(error, name));
    }
    case "dependentRequired":
      return problem(`${at}.${params["property"]}`, `requires ${params["deps"]}`, "dependentRequired");
    case "enum":
      return problem(at, "is not one of the accepted values", "enum", texts(params["allowedValues"]));
    case "const":
      return problem(at, "is not the accepted value", "enum", texts(params["allowedValue"]));
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = params["additionalProperty"] ?? params["unevaluatedProperty"];
      return problem(`${at}.${name}`, "is not a known field", "unknown_field", acceptedNames(error));
    }
    case "discriminator":
      return problem(`${at}.${params["tag"]}`, 'must be "url" or "asset"', "enum", ["url", "asset"]);
    case "oneOf":
    case "anyOf":
      return choiceProblem(error, at);
    default:
      return problem(at, error.message ?? "is not valid", error.keyword);
  }
}

function allowedOnce(problems: readonly FieldProblem[]): FieldProblem[] {
  const first = problems.findIndex((item) => item.reason === "unknown_field");
  return problems.map((item, index) =>
    item.reason === "unknown_field" && index !== first ? { ...item, allowed: null } : item,
  );
}

/** If a field's value has the wrong type, drops the field's other problems. */
function typeFirst(problems: readonly FieldProblem[]): FieldProblem[] {
  const mistyped = new Set(problems.filter((item) => item.reason === "type").map((item) => item.field));
  return problems.filter((item) => item.reason === "type" || !mistyped.has(item.field));
}

function unique(problems: readonly FieldProblem[]): FieldProblem[] {
  const seen = new Map(problems.map((item) => [`${item.field} ${item.reason}`, item]));
  return [...seen.values()];
}

export function toProblems(errors: readonly ErrorObject[], root: string): FieldProblem[] {
  return allowedOnce(typeFirst(unique(withoutBranches(errors).map((error) => toProblem(error, root)))));
}

/** Prompts with these words are refused, so that clients can test the refusal. */
export const MODERATION_TRIGGERS: readonly string[] = ["moderation-refused"];

const FIELDS = ["prompt", "negative_prompt", "text", "name"];

interface ModeratedText {
  readonly field: string;
  readonly text: string;
}

function moderatedTexts(input: Readonly<Record<string, unknown>>): ModeratedText[] {
  const own = FIELDS.flatMap((name) => {
    const text = input[name];
    return typeof text === "string" ? [{ field: `input.${name}`, text }] : [];
  });
  const shots = Array.isArray(input["multi_prompt"]) ? input["multi_prompt"] : [];
  const ofShots = shots.flatMap((shot: unknown, index) => {
    const text = isRecord(shot) ? shot["prompt"] : null;
    return typeof text === "string" ? [{ field: `input.multi_prompt[${index}].prompt`, text }] : [];
  });
  return [...own, ...ofShots];
}

export function moderate(input: Readonly<Record<string, unknown>>, triggers: readonly string[]): void {
  moderateTexts(moderatedTexts(input), triggers);
}

/**
 * Refuses a text that contains a trigger. A category can follow the trigger, as in `moderation-refused:violence`.
 * @throws Refusal 422
 */
export function moderateTexts(texts: readonly ModeratedText[], triggers: readonly string[]): void {
  for (const { field, text } of texts) {
    const lower = text.toLowerCase();
    const word = triggers.find((trigger) => lower.includes(trigger));
    if (word === undefined) continue;
    const category = /^:([a-z_-]+)/.exec(lower.slice(lower.indexOf(word) + word.length))?.[1];
    throw refuse("MODERATION_FAILED", "The input was refused by moderation.", flagged(field, category));
  }
}
