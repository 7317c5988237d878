import { createRequire } from "node:module";
import type { SchemaValidateFunction } from "ajv";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";
import { TookTooLong, withinTime } from "../../kit/time-limit.ts";
import { isSchema } from "../../plan/schema/schema.ts";
import { type Matcher, readPattern } from "./pattern.ts";

export type { ErrorObject };
export type Validate = (data: unknown) => readonly ErrorObject[];

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

// Loaded on first use, so that commands that plan nothing stay fast.
const load = createRequire(import.meta.url);
const instances = new Map<string, Ajv2020>();

function ajvWith(options: { readonly discriminator: boolean; readonly useDefaults: boolean }): Ajv2020 {
  const key = JSON.stringify(options);
  const known = instances.get(key);
  if (known !== undefined) return known;
  const { Ajv2020: Ajv } = load("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const { default: addFormats } = load("ajv-formats") as { readonly default: FormatsPlugin };
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    strict: false,
    ...options,
    unicodeRegExp: false,
    // The remaining references are numerous or recursive.
    inlineRefs: false,
    code: { regExp: pattern },
    multipleOfPrecision: 6,
    addUsedSchema: false,
    logger: false,
  });
  addFormats(ajv);
  // The package's own regular expression takes quadratic time.
  ajv.addFormat("url", (text) => URL.canParse(text) && /^(https?|ftp):$/.test(new URL(text).protocol));
  for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword);
  ajv.addKeyword({ keyword: "max_total_duration_ms", type: "array", errors: true, validate: totalDuration });
  // The package's own `uniqueItems` compares every pair of items, which is slow.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({ keyword: "uniqueItems", type: "array", errors: true, validate: uniqueItems });
  instances.set(key, ajv);
  return ajv;
}

const MAX_COMPILE_MS = 30_000;

let slowPatterns = 0;

const pattern = Object.assign(
  (text: string): Matcher => {
    const { matcher, isLinear } = readPattern(text);
    if (!isLinear) slowPatterns += 1;
    return matcher;
  },
  { code: "pattern" },
);

export interface CompileOptions {
  readonly useDefaults?: boolean;
  readonly maxCheckMs?: number;
}

/**
 * Compiles a schema that `prepareSchema` has prepared. Throws {@link TookTooLong} if this or a later check takes too
 * long.
 */
export function compile(schema: object, { useDefaults = false, maxCheckMs = 1000 }: CompileOptions = {}): Validate {
  slowPatterns = 0;
  const validate = inTime("compiling it", MAX_COMPILE_MS, () => compileEither(schema, useDefaults));
  const now: Validate = (data) => (validate(data) ? [] : (validate.errors ?? []));
  const isLinear = slowPatterns === 0 && !/"\$(dynamicR|r)ef":/.test(JSON.stringify(schema));
  return isLinear ? now : (data) => inTime("checking an input against it", maxCheckMs, () => now(data));
}

function inTime<T>(what: string, ms: number, work: () => T): T {
  try {
    return withinTime(ms, work);
  } catch (error) {
    throw error instanceof TookTooLong ? new TookTooLong(`${what} ${error.message}`) : error;
  }
}

function compileEither(schema: object, useDefaults: boolean) {
  try {
    return ajvWith({ discriminator: true, useDefaults }).compile(schema);
  } catch {
    return ajvWith({ discriminator: false, useDefaults }).compile(schema);
  }
}

function ordered(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isSchema(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

const uniqueItems: SchemaValidateFunction = (wanted: unknown, items: readonly unknown[]): boolean => {
  const first = new Map<string, number>();
  const i = items.findIndex((item, index) => {
    const text = ordered(item);
    if (first.has(text)) return true;
    first.set(text, index);
    return false;
  });
  if (wanted !== true || i < 0) return true;
  const params = { i, j: first.get(ordered(items[i])) };
  uniqueItems.errors = [{ keyword: "uniqueItems", message: "has the same item twice", params }];
  return false;
};

const totalDuration: SchemaValidateFunction = (limit: unknown, list: unknown, parent): boolean => {
  const preset: unknown = parent?.items?.properties?.duration_ms?.default;
  const lengths = (Array.isArray(list) ? list : []).map((item: { readonly duration_ms?: unknown } | null) => {
    const duration = item?.duration_ms ?? preset;
    return typeof duration === "number" ? duration : 0;
  });
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (typeof limit !== "number" || total <= limit) return true;
  const message = `lasts ${total} ms in total; at most ${limit} ms are allowed`;
  totalDuration.errors = [{ keyword: "max_total_duration_ms", message, params: { limit } }];
  return false;
};
