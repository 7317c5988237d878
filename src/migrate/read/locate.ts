import type { JsonPath } from "../json-path.ts";

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
