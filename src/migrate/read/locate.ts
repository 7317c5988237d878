import type { JsonPath } from "../json-path.ts";

interface Wanted {
  readonly below: Map<string | number, Wanted>;
  /** Callbacks that await this value's offset. */
  readonly found: ((offset: number) => void)[];
}

/**
 * Offsets of values in a valid JSON text, by path; one iterative pass for all of them. A path that does not exist gets
 * the offset of the nearest enclosing value.
 */
export function locate(text: string, paths: readonly JsonPath[]): readonly number[] {
  const offsets: number[] = paths.map(() => 0);
  const root: Wanted = { below: new Map(), found: [] };
  paths.forEach((path, index) => {
    let at: Wanted = root;
    const note = (offset: number) => {
      offsets[index] = offset;
    };
    at.found.push(note);
    for (const part of path) {
      const next: Wanted = at.below.get(part) ?? { below: new Map(), found: [] };
      at.below.set(part, next);
      next.found.push(note);
      at = next;
    }
  });
  walk(text, root);
  return offsets;
}

interface Open {
  /** Null when no requested path is inside. */
  readonly requested: Wanted | null;
  /** Index in a list, or the last key of an object. */
  key: string | number;
}

/** Tokens of a valid JSON text. */
export const TOKEN = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

function walk(text: string, root: Wanted): void {
  const open: Open[] = [];
  let isKeyNext = false;
  const here = (): Wanted | null => {
    const around = open.at(-1);
    return around === undefined ? root : (around.requested?.below.get(around.key) ?? null);
  };
  const arrive = (offset: number) => {
    for (const note of here()?.found ?? []) note(offset);
  };
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const around = open.at(-1);
    switch (token) {
      case "{":
      case "[":
        arrive(match.index);
        open.push({ requested: here(), key: token === "[" ? 0 : "" });
        isKeyNext = token === "{";
        break;
      case "}":
      case "]":
        open.pop();
        isKeyNext = false;
        break;
      case ",":
        if (typeof around?.key === "number") around.key++;
        else isKeyNext = true;
        break;
      case ":":
        isKeyNext = false;
        break;
      default:
        if (isKeyNext && around !== undefined) around.key = JSON.parse(token) as string;
        else arrive(match.index);
    }
  }
}
