import type { Position } from "../../core/kit/json-text.ts";

export type JsonPath = readonly (string | number)[];

/** Formats a path as `a.b[0]`, or as `a["x y"]` for unusual keys. */
export function pathText(path: JsonPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(part)) return `[${JSON.stringify(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

export const MAX_DEPTH = 40;

export type JsonRecord = { readonly [key: string]: unknown };

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export interface V2Source {
  readonly at: string;
  readonly value: unknown;
  readonly path: JsonPath;
  readonly label: string | null;
  readonly is: "generation" | "asset";
  readonly resolve: ((target: Target) => Resolved) | null;
}

export type Resolved =
  | { readonly to: "source"; readonly index: number }
  | { readonly to: "outside"; readonly name: string };

export interface ReadProblem {
  readonly code: string;
  readonly at: string;
  readonly path: JsonPath | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export interface ReadBodies {
  readonly sources: readonly V2Source[];
  readonly problems: readonly ReadProblem[];
  readonly left: readonly { readonly at: string; readonly why: string }[];
  readonly format: "body" | "list" | "lines" | "flow" | "none";
  readonly locate:
    | ((values: readonly { readonly at: string; readonly path: JsonPath }[]) => readonly Position[])
    | null;
}

export function readProblem(code: string, at: string, path: JsonPath | null, message: string): ReadProblem {
  return { code, at, path, line: null, column: null, message };
}

export function unreadable(code: string, message: string, position: Position = { line: 1, column: 1 }): ReadBodies {
  return collected("none", [{ ...readProblem(code, "the document", null, message), ...position }]);
}

export function collected(
  format: ReadBodies["format"],
  all: readonly (V2Source | ReadProblem)[],
  left: ReadBodies["left"] = [],
): ReadBodies {
  const sources = all.filter((one) => "value" in one);
  const problems = all.filter((one): one is ReadProblem => !("value" in one));
  return { format, left, sources, problems, locate: null };
}

export type TextPart = string | { readonly expression: string };

/** Matches text that is nothing but one `{name}`. Within longer text, single braces are literal. */
const SINGLE = /^\s*\{([A-Za-z_][\w.-]*)\}\s*$/;
const DOLLAR = /^\s*\$\{([A-Za-z_][\w.-]*)\}\s*$/;

export function isTemplate(value: unknown): value is string {
  return typeof value === "string" && (nextTemplate(value, 0) !== null || SINGLE.test(value) || DOLLAR.test(value));
}

/** Splits text into templates and literal parts. Removes a leading `=`, which some flows put before expressions. */
export function textParts(value: string): readonly TextPart[] {
  const alone = SINGLE.exec(value) ?? DOLLAR.exec(value);
  if (alone !== null) return [{ expression: alone[1] ?? "" }];
  const text = value.startsWith("=") && nextTemplate(value, 0) !== null ? value.slice(1) : value;
  const parts: TextPart[] = [];
  let from = 0;
  for (let found = nextTemplate(text, 0); found !== null; found = nextTemplate(text, from)) {
    if (found.start > from) parts.push(text.slice(from, found.start));
    parts.push({ expression: text.slice(found.start + 2, found.end - 2).trim() });
    from = found.end;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

function nextTemplate(text: string, from: number): { readonly start: number; readonly end: number } | null {
  const start = text.indexOf("{{", from);
  const close = start < 0 ? -1 : text.indexOf("}}", start + 2);
  return close < 0 ? null : { start, end: close + 2 };
}

export function soleExpression(value: string): string | null {
  const parts = textParts(value).filter((part) => typeof part !== "string" || part.trim() !== "");
  const [only] = parts;
  return parts.length === 1 && typeof only === "object" ? only.expression : null;
}

export type Target =
  | { readonly to: "node"; readonly name: string; readonly rest: string }
  | { readonly to: "previous"; readonly rest: string }
  | { readonly to: "variable"; readonly name: string };

export function targetOf(expression: string): Target {
  const [, , quoted, after = ""] = /^\$(?:node|items)?[([]\s*(["'`])(.*?)\1\s*[)\]]([\s\S]*)$/.exec(expression) ?? [];
  if (quoted !== undefined) return { to: "node", name: quoted, rest: after };
  const [, named, numbered, rest = ""] = /^(?:(?:steps|nodes)\.([\w-]+)|(\d+))(\.[\s\S]*)$/.exec(expression) ?? [];
  const node = named ?? numbered;
  if (node !== undefined) return { to: "node", name: node, rest };
  const previous = /^\$json([\s\S]*)$/.exec(expression);
  if (previous !== null) return { to: "previous", rest: previous[1] ?? "" };
  return { to: "variable", name: expression };
}

/** Returns `asset_id` for `.item.json["asset_id"]`. */
export function lastName(rest: string): string {
  return [...rest.matchAll(/[A-Za-z_]\w*/g)].at(-1)?.[0] ?? "";
}
