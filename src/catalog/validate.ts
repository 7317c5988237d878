import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json } from "../plan/plan.ts";
import { suggest } from "../suggest.ts";
import { type JsonSchema, mediaTypeOf, properties } from "./catalog.ts";

/** One thing wrong with an input. */
export interface InputProblem {
  readonly code: string;
  /** Dotted path that starts with `input`. */
  readonly field: string;
  readonly message: string;
  readonly allowed?: readonly string[];
}

const ANNOTATIONS = [
  "media_type",
  "role",
  "max_file_size_bytes",
  "min_duration_ms",
  "max_duration_ms",
  "min_dimension_px",
  "max_dimension_px",
  "min_aspect_ratio",
  "max_aspect_ratio",
  "max_total_duration_ms",
];

const compiled = new WeakMap<JsonSchema, ValidateFunction | { readonly defect: string }>();

/** Checks an input against a model's own schema; every problem at once. A schema that does not compile is one too. */
export function validateInput(schema: JsonSchema, input: Json): readonly InputProblem[] {
  const validate = compile(schema);
  if (typeof validate !== "function") {
    const message = `the model's schema does not compile (${validate.defect}); the service will check the input instead`;
    return [{ code: "schema", field: "input", message }];
  }
  if (validate(input)) return [];
  return readable(validate.errors ?? [], schema);
}

function compile(schema: JsonSchema): ValidateFunction | { readonly defect: string } {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  let made: ValidateFunction | { readonly defect: string };
  try {
    const ajv = new Ajv2020({
      allErrors: true,
      strict: false,
      verbose: true,
      discriminator: true,
      unicodeRegExp: false,
      multipleOfPrecision: 6,
      logger: false,
      addUsedSchema: false,
    });
    addFormats.default(ajv);
    for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword);
    made = ajv.compile(withoutMapping(schema) as Record<string, unknown>);
  } catch (error) {
    made = { defect: error instanceof Error ? error.message : String(error) };
  }
  compiled.set(schema, made);
  return made;
}

/** `discriminator.mapping` is OpenAPI's; the validator refuses it. */
function withoutMapping(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutMapping);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === "discriminator" && typeof item === "object" && item !== null) {
        return [key, { propertyName: (item as { propertyName?: Json }).propertyName ?? "source" }];
      }
      return [key, withoutMapping(item as Json)];
    }),
  );
}

/** Validation errors as sentences about fields: alternatives are told as one choice, conditions by what they ask for. */
function readable(errors: readonly ErrorObject[], schema: JsonSchema): readonly InputProblem[] {
  const choices = errors.filter(({ keyword }) => keyword === "oneOf" || keyword === "anyOf");
  const problems = new Map<string, InputProblem>();
  for (const error of errors) {
    if (error.keyword === "if") continue;
    // What went wrong in each branch of a choice says less than the choice itself.
    if (choices.some((choice) => choice !== error && error.schemaPath.startsWith(`${choice.schemaPath}/`))) continue;
    const problem = toProblem(error, schema);
    problems.set(`${problem.code} ${problem.field} ${problem.message}`, problem);
  }
  return [...problems.values()];
}

function toProblem(error: ErrorObject, schema: JsonSchema): InputProblem {
  const at = fieldAt(error.instancePath);
  const parent = error.parentSchema as JsonSchema | undefined;
  switch (error.keyword) {
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
      const allowed = Object.keys(properties(parent ?? schema));
      const near = suggest(name, allowed);
      const hint = near === null ? `fields are: ${allowed.join(", ")}` : `did you mean ${near}?`;
      return { code: "unknown-field", field: `${at}.${name}`, message: `there is no such field; ${hint}`, allowed };
    }
    case "required":
      return { code: "required", field: `${at}.${error.params.missingProperty}`, message: "is required" };
    case "dependentRequired":
    case "dependencies": {
      const { property, missingProperty } = error.params;
      return { code: "required", field: `${at}.${missingProperty}`, message: `is required when ${property} is given` };
    }
    case "enum": {
      const allowed = (error.params.allowedValues as readonly unknown[]).map(String);
      const near = typeof error.data === "string" ? suggest(error.data, allowed) : null;
      const hint = near === null ? "" : `; did you mean ${near}?`;
      return {
        code: "enum",
        field: at,
        message: `${shown(error.data)} is not one of ${allowed.join(", ")}${hint}`,
        allowed,
      };
    }
    case "const":
      return { code: "const", field: at, message: `must be ${shown(error.params.allowedValue)}` };
    case "type":
      return { code: "type", field: at, message: `must be ${error.params.type}, not ${shown(error.data)}` };
    case "pattern":
      return { code: "pattern", field: at, message: `${shown(error.data)} does not match ${error.params.pattern}` };
    case "not":
    case "false schema":
      return { code: "combination", field: at, message: "cannot be given together with the other fields that are set" };
    case "oneOf":
    case "anyOf":
    case "discriminator": {
      if (mediaTypeOf(parent) !== null) {
        return { code: "media", field: at, message: `must be ${mediaTypeOf(parent)}: a step's result or an upload` };
      }
      const names = requiredChoices(error.schema ?? parent?.oneOf);
      const exactly = error.keyword === "oneOf" ? "exactly" : "at least";
      const message = names === null ? "fits none of the allowed forms" : `give ${exactly} one of ${names.join(", ")}`;
      return { code: "choice", field: at, message };
    }
    default:
      return { code: error.keyword, field: at, message: error.message ?? "is not allowed" };
  }
}

/** `[{required: ["a"]}, {required: ["b"]}]` → `["a", "b"]`. */
function requiredChoices(branches: unknown): readonly string[] | null {
  if (!Array.isArray(branches)) return null;
  const names = branches.map((branch) => (branch as { required?: unknown }).required);
  return names.every((name): name is string[] => Array.isArray(name)) ? names.map((name) => name.join(" and ")) : null;
}

function fieldAt(instancePath: string): string {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : `${path}.${part}`), "input");
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
