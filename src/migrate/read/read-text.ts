import { type Position, parseJson, positionAt } from "../../core/kit/json-text.ts";
import { bodiesOf, sourceOf } from "./bodies.ts";
import {
  collected,
  type JsonPath,
  type ReadBodies,
  type ReadProblem,
  readProblem,
  unreadable,
  type V2Source,
} from "./source.ts";

export function readText(given: string): ReadBodies {
  const text = given.replace(/^\uFEFF/, "");
  if (text.trim() === "") return unreadable("empty", "the text is empty");
  if (/^\s*</.test(text)) {
    const message = "is HTML or XML, not JSON; it may be an error page saved instead of the bodies";
    return unreadable("not-json", message, positionAt(text, text.search(/\S/)));
  }
  const parsed = parseJson(text);
  if ("value" in parsed) {
    const read = bodiesOf(parsed.value);
    const problems = [...read.problems, ...repeatedKeys(text, "the document")];
    return { ...read, problems, locate: (values) => locate(text, values) };
  }
  const { line, column, message } = parsed.mistake;
  if (isLines(text)) return readLines(text.split("\n"));
  return unreadable("not-json", `is not valid JSON: ${message}`, { line, column });
}

function isLines(text: string): boolean {
  if (/^\s*(?:\[|\{\s*\n)/.test(text)) return false;
  const lines = text.split("\n", 200).filter((line) => line.trim() !== "");
  return lines.length > 1 && lines.some((line) => /^\s*\{.*\}\s*$/.test(line) && "value" in parseJson(line));
}

export function readLines(lines: readonly string[]): ReadBodies {
  const reads: (V2Source | ReadProblem)[] = [];
  const lineOf = new Map<string, number>();
  lines.forEach((text, index) => {
    if (text.trim() === "") return;
    const at = `line ${index + 1}`;
    lineOf.set(at, index);
    const parsed = parseJson(text);
    if ("value" in parsed) {
      reads.push(sourceOf(parsed.value, at, []));
      for (const problem of repeatedKeys(text, at)) reads.push({ ...problem, line: index + 1 });
      return;
    }
    const message = `is not valid JSON: ${parsed.mistake.message}`;
    reads.push({ ...readProblem("not-json", at, null, message), line: index + 1, column: parsed.mistake.column });
  });
  const locateAll: ReadBodies["locate"] = (values) =>
    values.map(({ at, path }) => {
      const index = lineOf.get(at) ?? 0;
      const [position] = locate(lines[index] ?? "", [{ path }]);
      return { line: index + 1, column: position?.column ?? 1 };
    });
  return { ...collected("lines", reads), locate: locateAll };
}

interface Token extends Position {
  readonly is: "open" | "close" | "key" | "value" | "next";
  readonly text: string;
}

/** Yields all tokens except colons, without recursion because nesting may be deep. */
function* tokensOf(text: string): Generator<Token, void> {
  const open: string[] = [];
  let isKeyNext = false;
  let [line, start, nextBreak] = [1, 0, text.indexOf("\n")];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]+|\\.)*"|[{}[\],]|[^\s{}[\],:"]+/gs)) {
    for (; nextBreak >= 0 && nextBreak < index; nextBreak = text.indexOf("\n", start)) {
      line++;
      start = nextBreak + 1;
    }
    if (token === "{" || token === "[") open.push(token);
    if (token === "}" || token === "]") open.pop();
    yield { is: KINDS[token] ?? (isKeyNext ? "key" : "value"), text: token, line, column: index - start + 1 };
    isKeyNext = token === "{" || (token === "," && open.at(-1) === "{");
  }
}

const KINDS: Readonly<Record<string, Token["is"]>> = {
  "{": "open",
  "[": "open",
  "}": "close",
  "]": "close",
  ",": "next",
};

interface Node {
  readonly below: Map<string | number, Node>;
  readonly values: number[];
}

/**
 * Returns the line and column of the value at each path. For a missing path, returns those of the nearest enclosing
 * value.
 */
function locate(text: string, values: readonly { readonly path: JsonPath }[]): readonly Position[] {
  const root: Node = { below: new Map(), values: [...values.keys()] };
  for (const [index, { path }] of values.entries()) {
    let at = root;
    for (const part of path) {
      const next: Node = at.below.get(part) ?? { below: new Map(), values: [] };
      at.below.set(part, next);
      next.values.push(index);
      at = next;
    }
  }
  const positions: Position[] = values.map(() => ({ line: 1, column: 1 }));
  const around: { readonly node: Node | null; key: string | number }[] = [];
  for (const { is, text: token, line, column } of tokensOf(text)) {
    const parent = around.at(-1);
    if (is === "close") around.pop();
    else if (is === "key" && parent) parent.key = JSON.parse(token) as string;
    else if (is === "next" && typeof parent?.key === "number") parent.key++;
    else if (is === "open" || is === "value") {
      const node = parent === undefined ? root : (parent.node?.below.get(parent.key) ?? null);
      for (const index of node?.values ?? []) positions[index] = { line, column };
      if (is === "open") around.push({ node, key: token === "[" ? 0 : "" });
    }
  }
  return positions;
}

const MOST = 100;

/** Finds keys that are repeated within an object. A JSON parser would keep only the last value. */
function repeatedKeys(text: string, at: string): readonly ReadProblem[] {
  const found: ReadProblem[] = [];
  const around: Set<string>[] = [];
  for (const { is, text: token, line, column } of tokensOf(text)) {
    if (is === "open") around.push(new Set());
    else if (is === "close") around.pop();
    else if (is === "key") {
      const key = token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
      const keys = around.at(-1);
      if (keys?.has(key) && found.length < MOST) {
        const message = `${JSON.stringify(key)} appears twice in one object; only the last one is migrated`;
        found.push({ ...readProblem("repeated-key", at, null, message), line, column });
      }
      keys?.add(key);
    }
  }
  return found;
}
