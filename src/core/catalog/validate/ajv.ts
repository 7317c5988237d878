import { createRequire } from "node:module";
import { createContext, Script } from "node:vm";
import type { SchemaValidateFunction } from "ajv";
import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";
import { type Matcher, readPattern } from "./pattern.ts";

const sandbox: { work: () => unknown } = { work: () => undefined };
let watched: { readonly context: object; readonly script: Script } | null = null;

/** Does synchronous work for so long at most, also when it hangs in a regular expression. Null when time was up. */
export function within<T>(ms: number, work: () => T): { readonly value: T } | null {
  watched ??= { context: createContext(sandbox), script: new Script("work()") };
  let done: { readonly value: T } | null = null;
  sandbox.work = () => {
    done = { value: work() };
  };
  try {
    watched.script.runInContext(watched.context, { timeout: ms });
    return done;
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    sandbox.work = () => undefined;
  }
}

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
    // Those that are left are many or recursive.
    inlineRefs: false,
    code: { regExp: pattern },
    multipleOfPrecision: 6,
    addUsedSchema: false,
    logger: false,
  });
  addFormats(ajv);
  // The package's own expression takes time that grows with the square of the text.
  ajv.addFormat("url", (text) => URL.canParse(text) && /^(https?|ftp):$/.test(new URL(text).protocol));
  for (const keyword of ANNOTATIONS) ajv.addKeyword(keyword);
  ajv.addKeyword({ keyword: "max_total_duration_ms", type: "array", errors: true, validate: totalDuration });
  instances.set(discriminator, ajv);
  return ajv;
}

/** Longest that compiling a schema may take, in milliseconds; its size bounds it to a second on an idle machine. */
const MAX_COMPILE_MS = 30_000;
/** Longest that one check may take, in milliseconds, where a schema's form does not bound it. */
const MAX_CHECK_MS = 1000;

/** Patterns of the schema compiled last that the linear engine does not take. */
let slowPatterns = 0;

const pattern = Object.assign(
  (text: string): Matcher => {
    const { matcher, isLinear } = readPattern(text);
    if (!isLinear) slowPatterns += 1;
    return matcher;
  },
  { code: "pattern" },
);

/** Compiles a schema that has been through `prepareSchema`. Throws when it cannot be compiled, in time. */
export function compile(schema: object): Validate {
  slowPatterns = 0;
  const { value: validate } =
    within(MAX_COMPILE_MS, () => compileEither(schema)) ?? tooSlow("compiling it", MAX_COMPILE_MS);
  const now: Validate = (data) => (validate(data) ? [] : (validate.errors ?? []));
  const isLinear = slowPatterns === 0 && !/"\$(dynamicR|r)ef":/.test(JSON.stringify(schema));
  return isLinear
    ? now
    : (data) => (within(MAX_CHECK_MS, () => now(data)) ?? tooSlow("checking an input against it", MAX_CHECK_MS)).value;
}

function tooSlow(what: string, ms: number): never {
  throw new Error(`${what} takes more than ${ms} ms`);
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
    const duration = item?.duration_ms ?? preset;
    return typeof duration === "number" ? duration : 0;
  });
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (typeof limit !== "number" || total <= limit) return true;
  const message = `lasts ${total} ms in all; at most ${limit} ms are allowed`;
  totalDuration.errors = [{ keyword: "max_total_duration_ms", message, params: { limit } }];
  return false;
};
