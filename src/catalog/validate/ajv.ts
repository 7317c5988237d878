import { createRequire } from "node:module";
import type { SchemaValidateFunction } from "ajv";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";

export type { ErrorObject };
export type Validate = (data: unknown) => readonly ErrorObject[];

/** What media fields say beside JSON Schema's own words. */
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

// Loaded at the first use: commands that plan nothing should not wait for it.
const load = createRequire(import.meta.url);
const instances = new Map<boolean, Ajv2020>();

function ajvWith(discriminator: boolean): Ajv2020 {
  const known = instances.get(discriminator);
  if (known !== undefined) return known;
  const { Ajv2020: Ajv } = load("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const { default: addFormats } = load("ajv-formats") as { readonly default: FormatsPlugin };
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: false,
    discriminator,
    unicodeRegExp: false,
    multipleOfPrecision: 6,
    addUsedSchema: false,
    logger: false,
  });
  addFormats(ajv);
  for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword);
  ajv.addKeyword({ keyword: "max_total_duration_ms", type: "array", errors: true, validate: totalDuration });
  instances.set(discriminator, ajv);
  return ajv;
}

/** Compiles a schema that has been through `prepareSchema`. Throws when it cannot be compiled. */
export function compile(schema: object): Validate {
  const validate = compileEither(schema);
  return (data) => (validate(data) ? [] : (validate.errors ?? []));
}

/** The discriminator gives better messages, but asks more of a schema than JSON Schema does. */
function compileEither(schema: object) {
  try {
    return ajvWith(true).compile(schema);
  } catch {
    return ajvWith(false).compile(schema);
  }
}

/** The shots of a list sum up; a shot that does not say its length has the default one. */
const totalDuration: SchemaValidateFunction = (limit: unknown, list: unknown, parent): boolean => {
  const preset: unknown = parent?.items?.properties?.duration_ms?.default;
  const lengths = (Array.isArray(list) ? list : []).map((item: { readonly duration_ms?: unknown } | null) => {
    const own = item?.duration_ms ?? preset;
    return typeof own === "number" ? own : 0;
  });
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (typeof limit !== "number" || total <= limit) return true;
  const message = `lasts ${total} ms in all; at most ${limit} ms are allowed`;
  totalDuration.errors = [{ keyword: "max_total_duration_ms", message, params: { limit } }];
  return false;
};
