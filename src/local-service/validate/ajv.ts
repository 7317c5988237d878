import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import type { JsonSchema } from "../catalog/model.ts";
import { isRecord } from "../json.ts";
import { type Matcher, readPattern } from "./pattern.ts";

/** Annotations of media fields beyond JSON Schema. Checked in `media/`, not by ajv. */
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
];

/** The default of `duration_ms` in the schema of an array's items. */
function defaultDuration(parent: unknown): number {
  const items = isRecord(parent) ? parent["items"] : undefined;
  const properties = isRecord(items) ? items["properties"] : undefined;
  const duration = isRecord(properties) ? properties["duration_ms"] : undefined;
  return isRecord(duration) && typeof duration["default"] === "number" ? duration["default"] : 0;
}

interface CustomCheck {
  (limit: unknown, items: unknown, parent?: unknown): boolean;
  errors?: Partial<ErrorObject>[];
}

/** Sums `duration_ms` over an array; an item without it counts as its default. */
const maxTotalDuration: CustomCheck = (limit, items, parent) => {
  const assumed = defaultDuration(parent);
  const total = (Array.isArray(items) ? items : []).reduce((sum: number, item: unknown) => {
    const own = isRecord(item) ? item["duration_ms"] : undefined;
    return sum + (typeof own === "number" ? own : isRecord(item) && "source" in item ? 0 : assumed);
  }, 0);
  if (typeof limit !== "number" || total <= limit) return true;
  maxTotalDuration.errors = [
    {
      keyword: "max_total_duration_ms",
      message: `lasts ${total} ms in all; at most ${limit} ms are allowed`,
      params: {},
    },
  ];
  return false;
};

/** Patterns of the most recently compiled schema that no linear engine supports. */
let slowPatterns = 0;

const pattern = Object.assign(
  (text: string): Matcher => {
    const { matcher, isLinear } = readPattern(text);
    if (!isLinear) slowPatterns += 1;
    return matcher;
  },
  { code: "pattern" },
);

/** JSON with sorted property names. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** ajv's own compares every pair of items. */
const uniqueItems: CustomCheck = (wanted, items) => {
  if (wanted !== true || !Array.isArray(items) || new Set(items.map(canonical)).size === items.length) return true;
  uniqueItems.errors = [{ keyword: "uniqueItems", message: "has the same item twice", params: {} }];
  return false;
};

/** ajv's own takes quadratic time. */
const isWebUrl = (text: string) => URL.canParse(text) && /^(https?|ftp):$/.test(new URL(text).protocol);

function createAjv(discriminator: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: false,
    discriminator,
    useDefaults: true,
    unicodeRegExp: false,
    code: { regExp: pattern },
    multipleOfPrecision: 6,
    logger: false,
  });
  formatsPlugin.default(ajv);
  ajv.addFormat("url", isWebUrl);
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({ keyword: "uniqueItems", type: "array", errors: true, validate: uniqueItems });
  for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword);
  ajv.addKeyword({ keyword: "max_total_duration_ms", type: "array", errors: true, validate: maxTotalDuration });
  return ajv;
}

const withDiscriminator = createAjv(true);
const withoutDiscriminator = createAjv(false);

/** A copy without `mapping`, which ajv does not support, and without ids, which would clash between catalogs. */
function prepared(node: unknown, top = true): unknown {
  if (Array.isArray(node)) return node.map((item) => prepared(item, false));
  if (!isRecord(node)) return node;
  const entries = Object.entries(node).filter(([key]) => !(top && key === "$id"));
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (key !== "discriminator" || !isRecord(value)) return [key, prepared(value, false)];
      return [key, { propertyName: value["propertyName"] }];
    }),
  );
}

/** A compiled schema. */
export interface CompiledSchema {
  readonly validate: ValidateFunction;
  /** Validation takes linear time: no pattern backtracks, and the schema is not recursive. */
  readonly isLinear: boolean;
}

/** Services of one process have the built-in catalog in common. */
const compiledBefore = new WeakMap<JsonSchema, CompiledSchema>();

/** Compiles an untrusted schema. @throws Error when it does not compile */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const found = compiledBefore.get(schema);
  if (found !== undefined) return found;
  const copy = prepared(schema) as JsonSchema;
  slowPatterns = 0;
  const validate = compileEither(copy);
  const isLinear = slowPatterns === 0 && !/"\$(dynamicR|r)ef":/.test(JSON.stringify(copy));
  const compiled = { validate, isLinear };
  if (isRecord(schema)) compiledBefore.set(schema, compiled);
  return compiled;
}

function compileEither(schema: JsonSchema): ValidateFunction {
  try {
    return withDiscriminator.compile(schema);
  } catch {
    return withoutDiscriminator.compile(schema);
  }
}
