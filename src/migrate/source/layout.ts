import stringWidth from "string-width";
import type { Json } from "../../plan/plan.ts";
import type { Expression } from "../expression.ts";
import { camel } from "../names.ts";

/** Invisible and bidirectional control characters. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text as a TypeScript literal, quoted as the formatter does. */
export function stringLiteral(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replace(INVISIBLE, escaped);
  const doubles = text.split('"').length;
  const singles = text.split("'").length;
  if (doubles <= singles) return `"${inner}"`;
  return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** The literal text of a template literal. */
export function templateWords(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replace(INVISIBLE, escaped);
  return inner.replaceAll("`", "\\`").replaceAll("${", "\\${");
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The text of a comment: one line, without invisible characters. */
export function commentWords(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/\p{Cc}/gu, "")
    .replace(INVISIBLE, "")
    .trim();
}

export function numberLiteral(value: number): string {
  return String(value).replace("e+", "e");
}

export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringLiteral(name);
}

/** Display width in columns; a line of plain ASCII is as wide as it is long. */
export function widthOf(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are ASCII, too
  return /^[\x00-\x7f]*$/.test(line) ? line.length : stringWidth(line);
}

/** Maximum line width in our formatter's settings. */
export const LINE_WIDTH = 120;

/** One property of an object, on one or more lines, as the formatter lays it out. */
export function property(name: string, value: Expression, indent: string): string {
  const key = propertyName(name);
  const line = inline(value) === name ? `${indent}${name},` : `${indent}${key}: ${inline(value) ?? ""},`;
  if (inline(value) !== null && (widthOf(line) <= LINE_WIDTH || isUnbreakable(value))) {
    return breaksAfterColon(value, key, line) ? `${indent}${key}:\n${indent}  ${inline(value)},` : line;
  }
  return `${indent}${key}: ${block(value, indent)},`;
}

/** Breaks before a long text, unless that gains next to nothing. */
function breaksAfterColon(value: Expression, key: string, line: string): boolean {
  const isText = value.is === "json" && typeof value.value === "string";
  return isText && widthOf(line) > LINE_WIDTH && key.length >= 5;
}

function isUnbreakable(value: Expression): boolean {
  return value.is !== "list" && value.is !== "record" && !(value.is === "json" && typeof value.value === "object");
}

/** A value on one line; null for one that always takes several. */
export function inline(value: Expression): string | null {
  switch (value.is) {
    case "json":
      return inlineJson(value.value);
    case "step":
      return camel(value.step);
    case "upload":
      return value.input;
    case "input":
      return `input.${value.input}`;
    case "template":
      return `\`${value.parts.map((part) => (typeof part === "string" ? templateWords(part) : `\${input.${part.input}}`)).join("")}\``;
    case "list":
      return inlineList(value.items);
    case "record":
      return value.entries.length === 0 ? "{}" : null;
    default:
      return value satisfies never;
  }
}

function inlineJson(value: Json): string | null {
  if (typeof value === "string") return stringLiteral(value);
  if (typeof value === "number") return numberLiteral(value);
  if (value === null || typeof value === "boolean") return String(value);
  return inline(opened(value));
}

/** A JSON list or object as an expression. */
function opened(value: Json): Expression {
  if (Array.isArray(value)) return { is: "list", items: value.map((item: Json) => ({ is: "json", value: item })) };
  if (typeof value !== "object" || value === null) return { is: "json", value };
  const entries = Object.entries(value).map(
    ([name, item]: [string, Json]) => [name, { is: "json", value: item }] as const,
  );
  return { is: "record", entries };
}

function inlineList(items: readonly Expression[]): string | null {
  // Lists of lists with several items take one line per item.
  const isMatrix = items.length > 1 && items.every((item) => lengthOf(item) > 1);
  if (isMatrix) return null;
  const written = items.map(inline);
  return written.includes(null) ? null : `[${written.join(", ")}]`;
}

function lengthOf(value: Expression): number {
  if (value.is === "list") return value.items.length;
  return value.is === "json" && Array.isArray(value.value) ? value.value.length : 0;
}

/** A list or object over several lines; the first line starts at the caller's position. */
export function block(value: Expression, indent: string): string {
  const whole = value.is === "json" ? opened(value.value) : value;
  const inner = `${indent}  `;
  if (whole.is === "record") {
    if (whole.entries.length === 0) return "{}";
    return `{\n${whole.entries.map(([name, item]) => property(name, item, inner)).join("\n")}\n${indent}}`;
  }
  if (whole.is !== "list") return inline(whole) ?? "";
  const isNumbers =
    whole.items.length > 1 && whole.items.every((item) => item.is === "json" && typeof item.value === "number");
  const lines = isNumbers ? filled(whole.items, inner) : whole.items.map((item) => `${inner}${element(item, inner)},`);
  return `[\n${lines.join("\n")}\n${indent}]`;
}

function element(item: Expression, indent: string): string {
  const line = inline(item);
  return line !== null && (isUnbreakable(item) || widthOf(`${indent}${line},`) <= LINE_WIDTH)
    ? line
    : block(item, indent);
}

/** Numbers fill each line. */
function filled(items: readonly Expression[], indent: string): readonly string[] {
  const lines: string[] = [];
  for (const item of items) {
    const word = `${inline(item)},`;
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LINE_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines;
}

/** A comment of one sentence, wrapped. */
export function comment(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= LINE_WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}// ${word}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}
