import { createRequire } from "node:module";
import type { SchemaValidateFunction } from "ajv";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";
import { TookTooLong, withinTime } from "../../kit/within-time.ts";
import { isSchema } from "../../plan/schema.ts";

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

// The packages are loaded on first use, so that commands that plan nothing stay fast.
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
    // Do not inline the remaining references, because they are numerous or recursive.
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

interface CompileOptions {
  readonly useDefaults?: boolean;
  readonly maxCheckMs?: number;
}

/**
 * Compiles a schema that `prepareSchema` has prepared. Throws `TookTooLong` if compiling takes too long. The returned
 * function also throws it if a check takes too long.
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

export interface Matcher {
  test(text: string): boolean;
  /** Returns a string that is unique to this pattern. Ajv uses it as the pattern's key. */
  toString(): string;
}

interface ReadPattern {
  readonly matcher: Matcher;
  /** False if matching may take exponential time. */
  readonly isLinear: boolean;
}

const SPACES: readonly (readonly [number, number])[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];
const LAST = 0x10ffff;

const isCharacter = (code: number) => code <= LAST && (code < 0xd800 || code > 0xdfff);
const range = (from: number, to: number) => `\\x{${from.toString(16)}}-\\x{${to.toString(16)}}`;
const spaces = SPACES.map(([from, to]) => range(from, to)).join("");
const others = [...SPACES.map(([from]) => from), LAST + 1]
  .map((next, index) => range(index === 0 ? 0 : SPACES[index - 1]![1] + 1, next - 1))
  .join("");

/** Prepares a pattern for a linear-time engine, or for JavaScript's engine if the pattern needs it. */
export function readPattern(pattern: string): ReadPattern {
  const native = new RegExp(pattern);
  const translated = translate(pattern);
  if (translated === null) return { matcher: native, isLinear: false };
  try {
    const { RE2JS } = load("re2js") as typeof import("re2js");
    const linear = RE2JS.compile(translated);
    return { matcher: { test: (text) => linear.test(text), toString: () => native.toString() }, isLinear: true };
  } catch {
    return { matcher: native, isLinear: false };
  }
}

/** Translates a pattern to the linear-time engine's syntax. Returns null if the engine does not support the pattern. */
function translate(pattern: string): string | null {
  const created: string[] = [];
  let inClass = false;
  for (let at = 0; at < pattern.length; ) {
    const unit = unitAt(pattern, at, inClass);
    const text = inClass ? inside(unit) : outside(unit);
    if (text === null) return null;
    created.push(text);
    if (inClass ? unit === "]" : unit === "[" || unit === "[^") inClass = !inClass;
    at += unit.length;
  }
  return created.join("");
}

function unitAt(pattern: string, at: number, inClass: boolean): string {
  const rest = pattern.slice(at, at + 16);
  const sequence = /^\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|p\{\w+\}|[\s\S])/i.exec(rest)?.[0];
  if (sequence !== undefined) return sequence;
  const opening = inClass ? undefined : /^\[\^?\]?/.exec(rest)?.[0];
  return opening ?? String.fromCodePoint(pattern.codePointAt(at)!);
}

function outside(unit: string): string | null {
  if (unit === "\\s") return `[${spaces}]`;
  if (unit === "\\S") return `[${others}]`;
  if (unit === "[]") return `[^${range(0, LAST)}]`;
  if (unit === "[^]") return `[${range(0, LAST)}]`;
  if (unit === ".") return "[^\\n\\r\\x{2028}\\x{2029}]";
  return unit.startsWith("\\") ? escaped(unit) : unit;
}

function inside(unit: string): string | null {
  if (unit === "\\s") return spaces;
  if (unit === "\\S") return others;
  if (unit === "\\b") return "\\x{8}";
  if (unit === "[") return "\\[";
  return unit.startsWith("\\") ? escaped(unit) : unit;
}

function escaped(unit: string): string | null {
  const code = /^\\[ux]\{?([\da-f]+)\}?$/i.exec(unit)?.[1];
  if (code !== undefined) return isCharacter(Number.parseInt(code, 16)) ? `\\x{${code}}` : null;
  if (/^\\c./.test(unit)) return `\\x{${(unit.charCodeAt(2) % 32).toString(16)}}`;
  if (/^\\[1-9k]/.test(unit)) return null;
  if (unit === "\\0") return "\\x{0}";
  if (/^\\(?:[dDwWbBtnrfv]|[pP]\{)/.test(unit)) return unit;
  // An escape without a special meaning is the character itself.
  return /^\\\w/.test(unit) ? unit.slice(1) : unit;
}
