import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { RE2JS } from "re2js";
import type { JsonSchema } from "../catalog/model.ts";
import { isRecord } from "../json.ts";

/** The interface that ajv expects of a pattern. */
interface Matcher {
  test(text: string): boolean;
  /** Identifies a pattern in compiled code. */
  toString(): string;
}

interface Pattern {
  readonly matcher: Matcher;
  /** Matching takes linear time. Otherwise it may not terminate, and needs a time limit. */
  readonly isLinear: boolean;
}

/** One token of a pattern: an escape, a bracket of a class, or a character. */
const UNIT =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[\da-fA-F]{1,6}\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\c[A-Za-z]|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^?\]?|[\s\S]/gu;

/** JavaScript's white space; RE2's own is ASCII only. */
const SPACE = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NO_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const ANY = "\\x{0}-\\x{10ffff}";
/** Escapes that mean the same in both. */
const SHARED = /^\\(?:[dDwWbBtnrfv]|[pP]\{.*\}|[^\da-zA-Z])$/u;

const codePoint = (code: number) => `\\x{${code.toString(16)}}`;

function numbered(unit: string): string | null {
  const [, braced, pair, hex] = /^\\u\{(.+)\}$|^((?:\\u.{4}){2})$|^\\[ux](.{2,4})$/u.exec(unit) ?? [];
  if (pair !== undefined) return codePoint(JSON.parse(`"${pair}"`).codePointAt(0));
  const digits = braced ?? hex;
  if (digits === undefined) return null;
  const code = Number.parseInt(digits, 16);
  // RE2 has no lone surrogates, and then rejects the escape.
  return code >= 0xd800 && code <= 0xdfff ? unit : codePoint(code);
}

function escaped(unit: string, inClass: boolean): string {
  if (unit === "\\s") return inClass ? SPACE : `[${SPACE}]`;
  if (unit === "\\S") return inClass ? NO_SPACE : `[${NO_SPACE}]`;
  if (inClass && unit === "\\b") return codePoint(8);
  if (SHARED.test(unit)) return unit;
  if (/^\\c.$/.test(unit)) return codePoint(unit.charCodeAt(2) & 31);
  if (unit === "\\0") return codePoint(0);
  // Backreferences have no linear form: RE2 rejects them too.
  return numbered(unit) ?? (/^\\[\dk]$/.test(unit) ? unit : unit.slice(1));
}

/**
 * Translates a JavaScript pattern to RE2 syntax. What RE2 does not support, such as look-around, is left for RE2 to
 * reject.
 */
function toRe2(pattern: string): string {
  let inClass = false;
  return pattern.replaceAll(UNIT, (unit) => {
    if (unit.startsWith("\\")) return escaped(unit, inClass);
    if (inClass) {
      if (unit === "]") inClass = false;
      return unit.startsWith("[") ? `\\${unit.slice(0, 1)}${endOf(unit)}` : unit;
    }
    if (unit === "[]") return `[^${ANY}]`;
    if (unit === "[^]") return `[${ANY}]`;
    if (unit.startsWith("[")) inClass = true;
    return unit === "." ? "[^\\n\\r\\x{2028}\\x{2029}]" : unit;
  });

  function endOf(unit: string): string {
    if (unit.endsWith("]")) inClass = false;
    return unit.slice(1);
  }
}

/** A pattern without repetition or alternation cannot backtrack. */
const isPlain = (pattern: string) =>
  !/[*+?{|]|\\[1-9k]/.test(pattern.replaceAll(/\\[^1-9k]|\[(?:\\[\s\S]|[^\]\\])*\]/g, ""));

function native(pattern: string): RegExp {
  try {
    // Unicode properties are only recognized with the `u` flag, which in turn rejects needless escapes.
    if (/\\[pP]\{/.test(pattern)) return new RegExp(pattern, "u");
  } catch {
    // Parsed without the flag.
  }
  return new RegExp(pattern);
}

/** Compiles a pattern of an untrusted schema. @throws SyntaxError when it is invalid in JavaScript */
export function readPattern(pattern: string): Pattern {
  const expression = native(pattern);
  if (isPlain(pattern)) return { matcher: expression, isLinear: true };
  try {
    const compiled = RE2JS.compile(toRe2(pattern));
    return { matcher: { test: (text) => compiled.test(text), toString: () => `/${pattern}/` }, isLinear: true };
  } catch {
    return { matcher: expression, isLinear: false };
  }
}

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
