import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { fieldPath } from "../validate/problems.ts";
import { type FieldProblem, invalid, problem } from "./refusal.ts";

/** Deepest nesting of a JSON body. */
export const MAX_DEPTH = 64;
/** Maximum number of values in a JSON body, over all its lists and objects. */
export const MAX_VALUES = 20_000;
/** Maximum number of fields in one object. */
export const MAX_FIELDS = 1000;

export type Excess = "max_depth" | "max_values" | "max_fields";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_LIST = 0x5d;

/**
 * Counts a JSON text's depth, values and fields while its bytes arrive, so that an oversized one is refused before it
 * is read whole and parsed. It does not validate the JSON.
 */
export class JsonSize {
  #inText = false;
  /** Whether the previous bytes end within an escape. */
  #escaped = false;
  #values = 0;
  /** Per depth: whether it is an object, and its number of commas. */
  readonly #open: { isObject: boolean; commas: number }[] = [];

  /** The exceeded limit, as soon as it is exceeded; null until then. */
  add(bytes: Uint8Array): Excess | null {
    for (let at = 0; at < bytes.length; ) {
      if (this.#inText) at = this.#skipText(bytes, at);
      else {
        const excess = this.#outside(bytes[at]!);
        if (excess !== null) return excess;
        at += 1;
      }
    }
    return null;
  }

  /** The end of the string that contains `at`, or of the bytes. */
  #skipText(bytes: Uint8Array, at: number): number {
    const quote = bytes.indexOf(QUOTE, at);
    const end = quote < 0 ? bytes.length : quote;
    let first = end;
    while (first > at && bytes[first - 1] === BACKSLASH) first -= 1;
    const isEscaped = ((end - first) % 2 === 1) !== (first === at && this.#escaped);
    this.#escaped = quote < 0 && isEscaped;
    this.#inText = quote < 0 || isEscaped;
    return end + (quote < 0 ? 0 : 1);
  }

  #outside(byte: number): Excess | null {
    switch (byte) {
      case QUOTE:
        this.#inText = true;
        return null;
      case OPEN_OBJECT:
      case OPEN_LIST:
        this.#open.push({ isObject: byte === OPEN_OBJECT, commas: 0 });
        if (this.#open.length > MAX_DEPTH) return "max_depth";
        return this.#count();
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        this.#open.pop();
        return null;
      case COMMA:
        return this.#comma();
      default:
        return null;
    }
  }

  #comma(): Excess | null {
    const inner = this.#open.at(-1);
    if (inner) inner.commas += 1;
    return inner?.isObject && inner.commas >= MAX_FIELDS ? "max_fields" : this.#count();
  }

  #count(): Excess | null {
    this.#values += 1;
    return this.#values > MAX_VALUES ? "max_values" : null;
  }
}

/** Largest JSON body: enough for many long shot prompts, and a bound on memory. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024;

/** Bytes of a refused body that are read and discarded before the connection is cut. */
const MAX_READ_BYTES = 4 * MAX_JSON_BYTES;

const bad = (text: string, reason: string) => invalid([problem("body", text, reason)]);

const EXCESS: Readonly<Record<Excess, string>> = {
  max_depth: `nests deeper than ${MAX_DEPTH} levels`,
  max_values: `holds more than ${MAX_VALUES} values`,
  max_fields: `has an object with more than ${MAX_FIELDS} fields`,
};

interface BodyLimits {
  readonly maxBytes: number;
  /** Inspects each chunk as it arrives; returns a message and a reason to refuse the body. */
  readonly inspect?: (piece: Buffer) => Excess | null;
}

/** Collects the body; stops at the limit. @throws Refusal 400 */
export function readBody(incoming: IncomingMessage, { maxBytes, inspect = () => null }: BodyLimits): Promise<Buffer> {
  const tooLarge = () => bad(`is larger than ${maxBytes} bytes`, "max_size");
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] | null = [];
    let size = 0;
    const giveUp = (error: Error) => {
      // Drain the rest: a client whose connection is cut while it sends would not receive the answer.
      chunks = null;
      reject(error);
    };
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (chunks === null) {
        if (size > MAX_READ_BYTES) incoming.destroy();
        return;
      }
      const excess = size > maxBytes ? "max_size" : inspect(chunk);
      if (excess === null) chunks.push(chunk);
      else giveUp(excess === "max_size" ? tooLarge() : bad(EXCESS[excess], excess));
    });
    incoming.once("end", () => chunks && resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    incoming.once("error", () => reject(bad("was cut short", "incomplete")));
    incoming.once("close", () => reject(bad("was cut short", "incomplete")));
  });
}

/** Strict UTF-8 JSON of bounded size; an empty body counts as `{}`. @throws Refusal 400 */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const size = new JsonSize();
  const bytes = await readBody(incoming, { maxBytes: MAX_JSON_BYTES, inspect: (piece) => size.add(piece) });
  return bytes.length === 0 ? {} : parse(bytes);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw bad("is not valid JSON", "json");
  }
}

const REASONS: Readonly<Record<string, string>> = {
  invalid_type: "type",
  invalid_value: "enum",
  too_small: "minimum",
  too_big: "maximum",
  invalid_format: "format",
  unrecognized_keys: "unknown_field",
};

function toProblem(issue: z.core.$ZodIssue): FieldProblem {
  const pointer = issue.path.map((part) => `/${String(part)}`).join("");
  const field = fieldPath("", pointer).replace(/^\./, "") || "body";
  const allowed = issue.code === "invalid_value" ? issue.values.map(String) : null;
  if (issue.code === "custom") return problem(field, issue.message, String(issue.params?.["reason"] ?? "invalid"));
  const isText = (issue.code === "too_small" || issue.code === "too_big") && issue.origin === "string";
  if (isText) return problem(field, issue.message, issue.code === "too_small" ? "minLength" : "maxLength");
  const isMissing = issue.code === "invalid_type" && issue.input === undefined;
  return problem(field, issue.message, isMissing ? "required" : (REASONS[issue.code] ?? "invalid"), allowed);
}

/** Reads a body by its schema. @throws Refusal 400 with every bad field */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.map(toProblem));
}
