import { parseJson, positionAt } from "../../core/kit/json-text.ts";
import type { JsonPath } from "../json-path.ts";
import { bodiesOf, collected, sourceOf } from "./bodies.ts";
import {
  type Position,
  type ReadBodies,
  type ReadProblem,
  readProblem,
  type V2Source,
  type ValuePath,
} from "./source.ts";

/** Parses a text: a JSON document, or JSON Lines. */
export function readText(given: string): ReadBodies {
  const text = given.replace(/^\uFEFF/, "");
  if (text.trim() === "") return nothing({ ...problem("empty", "the text is empty"), line: 1, column: 1 });
  if (/^\s*</.test(text)) {
    const message = "is HTML or XML, not JSON; it may be an error page that was saved in place of the bodies";
    return nothing({ ...problem("not-json", message), ...positionAt(text, text.search(/\S/)) });
  }
  const parsed = parseJson(text);
  if ("value" in parsed) {
    const read = bodiesOf(parsed.value);
    const twice = repeatedKeys(text).map((key) => ({
      ...repeated(key, "the document"),
      ...positionAt(text, key.offset),
    }));
    return { ...read, problems: [...read.problems, ...twice], locate: (requested) => positionsIn(text, requested) };
  }
  const { line, column, message } = parsed.mistake;
  if (isLines(text)) return readLines(text.split("\n"));
  return nothing({ ...problem("not-json", `is not valid JSON: ${message}`), line, column });
}

/** Some line is a JSON object by itself, and the first starts neither a list nor a multi-line object. */
function isLines(text: string): boolean {
  if (/^\s*(?:\[|\{\s*\n)/.test(text)) return false;
  const lines = text.split("\n", 200).filter((line) => line.trim() !== "");
  return lines.length > 1 && lines.some((line) => /^\s*\{.*\}\s*$/.test(line) && "value" in parseJson(line));
}

/** JSON Lines: an invalid line is a problem of that line alone. */
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
      for (const key of repeatedKeys(text))
        reads.push({ ...repeated(key, at), line: index + 1, column: key.offset + 1 });
      return;
    }
    const message = `is not valid JSON: ${parsed.mistake.message}`;
    reads.push({ ...readProblem("not-json", at, null, message), line: index + 1, column: parsed.mistake.column });
  });
  const positionOf = ({ at, path }: ValuePath): Position => {
    const index = lineOf.get(at) ?? 0;
    const [offset = 0] = locate(lines[index] ?? "", [path]);
    return { line: index + 1, column: offset + 1 };
  };
  return { format: "lines", left: [], ...collected(reads), locate: (requested) => requested.map(positionOf) };
}

function repeated({ key }: RepeatedKey, at: string): ReadProblem {
  const message = `${JSON.stringify(key)} stands twice in one object; only the last one is migrated`;
  return readProblem("repeated-key", at, null, message);
}

function positionsIn(text: string, requested: readonly ValuePath[]): readonly Position[] {
  const offsets = locate(
    text,
    requested.map(({ path }) => path),
  );
  const order = offsets.map((offset, index) => ({ offset, index })).sort((a, b) => a.offset - b.offset);
  const positions = requested.map((): Position => ({ line: 1, column: 1 }));
  let [line, start] = [1, 0];
  let next = text.indexOf("\n");
  for (const { offset, index } of order) {
    for (; next >= 0 && next < offset; next = text.indexOf("\n", next + 1)) {
      line++;
      start = next + 1;
    }
    positions[index] = { line, column: offset - start + 1 };
  }
  return positions;
}

function nothing(one: ReadProblem): ReadBodies {
  return { format: "none", left: [], sources: [], problems: [one], locate: null };
}

function problem(code: string, message: string): ReadProblem {
  return readProblem(code, "the document", null, message);
}

interface Token {
  readonly is: "open" | "close" | "key" | "value" | "next";
  readonly text: string;
  readonly offset: number;
}

/** The tokens of a valid JSON text, without colons. Not recursive, so that no depth overflows the stack. */
function* tokensOf(text: string): Generator<Token, void> {
  const open: string[] = [];
  let isKeyNext = false;
  for (const { 0: token, index: offset } of text.matchAll(/"(?:[^"\\]+|\\.)*"|[{}[\],]|[^\s{}[\],:"]+/gs)) {
    if (token === "{" || token === "[") open.push(token);
    if (token === "}" || token === "]") open.pop();
    yield { is: KINDS[token] ?? (isKeyNext ? "key" : "value"), text: token, offset };
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
  /** Indexes of the paths that await this value's offset. */
  readonly paths: number[];
}

/**
 * Offsets of values in a valid JSON text, by path; one pass for all of them. A path that does not exist gets the offset
 * of the nearest enclosing value.
 */
export function locate(text: string, paths: readonly JsonPath[]): readonly number[] {
  const root: Node = { below: new Map(), paths: [...paths.keys()] };
  for (const [index, path] of paths.entries()) {
    let at = root;
    for (const part of path) {
      const next: Node = at.below.get(part) ?? { below: new Map(), paths: [] };
      at.below.set(part, next);
      next.paths.push(index);
      at = next;
    }
  }
  const offsets: number[] = paths.map(() => 0);
  /** The values around; `node` is null where no path leads into one, `key` the position within it. */
  const around: { readonly node: Node | null; key: string | number }[] = [];
  for (const { is, text: token, offset } of tokensOf(text)) {
    const parent = around.at(-1);
    if (is === "close") around.pop();
    else if (is === "key" && parent) parent.key = JSON.parse(token) as string;
    else if (is === "next" && typeof parent?.key === "number") parent.key++;
    else if (is === "open" || is === "value") {
      const node = parent === undefined ? root : (parent.node?.below.get(parent.key) ?? null);
      for (const index of node?.paths ?? []) offsets[index] = offset;
      if (is === "open") around.push({ node, key: token === "[" ? 0 : "" });
    }
  }
  return offsets;
}

export interface RepeatedKey {
  readonly key: string;
  /** Location of the duplicate. */
  readonly offset: number;
}

/** Maximum number of reported duplicates per document. */
const MOST = 100;

/** Duplicate keys in one object of a valid JSON text; a parser keeps only the last. */
export function repeatedKeys(text: string): readonly RepeatedKey[] {
  const found: RepeatedKey[] = [];
  const around: Set<string>[] = [];
  for (const { is, text: token, offset } of tokensOf(text)) {
    if (is === "open") around.push(new Set());
    else if (is === "close") around.pop();
    else if (is === "key") {
      const key = token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1);
      const keys = around.at(-1);
      if (keys?.has(key) && found.length < MOST) found.push({ key, offset });
      keys?.add(key);
    }
  }
  return found;
}
