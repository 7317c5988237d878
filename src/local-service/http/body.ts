import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { fieldPath } from "../validate/problems.ts";
import { type FieldProblem, invalid, problem } from "./refusal.ts";

export const MAX_DEPTH = 64;
/** Maximum total number of values in all lists and objects of a JSON body. */
export const MAX_VALUES = 20_000;
export const MAX_FIELDS = 1000;

type Excess = "max_depth" | "max_values" | "max_fields";

function afterText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === "\\") first -= 1;
    if ((end - first) % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Finds the limit that a JSON text exceeds, without parsing the text. */
export function jsonExcess(text: string): Excess | null {
  const open: { readonly isObject: boolean; commas: number }[] = [];
  const marks = /["{}[\],]/g;
  let values = 0;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    const [mark] = found;
    const inner = open.at(-1);
    if (mark === '"') marks.lastIndex = afterText(text, found.index);
    else if (mark === "}" || mark === "]") open.pop();
    else {
      if (mark !== ",") open.push({ isObject: mark === "{", commas: 0 });
      else if (inner && ++inner.commas >= MAX_FIELDS && inner.isObject) return "max_fields";
      if (open.length > MAX_DEPTH) return "max_depth";
      if (++values > MAX_VALUES) return "max_values";
    }
  }
  return null;
}

const MAX_JSON_BYTES = 16 * 1024 * 1024;

/** Number of bytes of a refused body that are read before the connection is cut. */
const MAX_READ_BYTES = 4 * MAX_JSON_BYTES;

const bad = (text: string, reason: string) => invalid([problem("body", text, reason)]);

const EXCESS: Readonly<Record<Excess, string>> = {
  max_depth: `is nested deeper than ${MAX_DEPTH} levels`,
  max_values: `contains more than ${MAX_VALUES} values`,
  max_fields: `contains an object with more than ${MAX_FIELDS} fields`,
};

export function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => bad(`is larger than ${maxBytes} bytes`, "max_size");
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      // Reads and discards the remaining bytes, because a client whose connection is cut while it sends would not
      // receive the answer.
      else if (size <= MAX_READ_BYTES) reject(tooLarge());
      else incoming.destroy();
    });
    incoming.once("end", () => resolve(Buffer.concat(chunks)));
    incoming.once("error", () => reject(bad("was truncated", "incomplete")));
    incoming.once("close", () => reject(bad("was truncated", "incomplete")));
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

export async function readJson(incoming: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<unknown> {
  const bytes = await readBody(incoming, maxBytes);
  const text = validJson(() => decoder.decode(bytes));
  const excess = jsonExcess(text);
  if (excess !== null) throw bad(EXCESS[excess], excess);
  return text === "" ? {} : validJson(() => JSON.parse(text));
}

function validJson<T>(read: () => T): T {
  try {
    return read();
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
};

function toProblems(issue: z.core.$ZodIssue): FieldProblem[] {
  const at = fieldPath("", issue.path.map(String)).replace(/^\./, "");
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => problem(at ? `${at}.${key}` : key, "is not a known field", "unknown_field"));
  return [toProblem(issue, at || "body")];
}

function toProblem(issue: z.core.$ZodIssue, field: string): FieldProblem {
  const allowed = issue.code === "invalid_value" ? issue.values.map(String) : null;
  if (issue.code === "custom") return problem(field, issue.message, String(issue.params?.["reason"] ?? "invalid"));
  const isText = (issue.code === "too_small" || issue.code === "too_big") && issue.origin === "string";
  if (isText) return problem(field, issue.message, issue.code === "too_small" ? "minLength" : "maxLength");
  const isMissing = issue.code === "invalid_type" && issue.input === undefined;
  return problem(field, issue.message, isMissing ? "required" : (REASONS[issue.code] ?? "invalid"), allowed);
}

export function problemsOf<T>(schema: z.ZodType<T>, value: unknown): { problems: FieldProblem[]; data: T | undefined } {
  const { data, error } = schema.safeParse(value, { reportInput: true });
  return { data, problems: error?.issues.flatMap(toProblems) ?? [] };
}

export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const { problems, data } = problemsOf(schema, value);
  if (problems.length > 0) throw invalid(problems);
  return data as T;
}
