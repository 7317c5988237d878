import { isRecord, type SchemaNode } from "./schema-node.ts";

/** Limits on the text searched and on the number of positions tried. */
const MAX_SEARCHED = 200_000;
const MAX_STARTS = 50;

/** The end of the JSON value that starts here, by its brackets; -1 when they do not close. */
function endOf(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const mark = text[at];
    if (quoted) {
      if (mark === "\\") at += 1;
      else if (mark === '"') quoted = false;
    } else if (mark === '"') quoted = true;
    else if (mark === "{" || mark === "[") depth += 1;
    else if (mark === "}" || mark === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Found {
  readonly start: number;
  readonly end: number;
  readonly value: SchemaNode;
}

/** JSON objects embedded in a text, in order. */
export function objectsIn(whole: string): readonly Found[] {
  const text = whole.slice(0, MAX_SEARCHED);
  const found: Found[] = [];
  let from = 0;
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const start = text.indexOf("{", from);
    if (start < 0) break;
    const end = endOf(text, start);
    const value = end < 0 ? null : parsed(text.slice(start, end));
    if (isRecord(value)) found.push({ start, end, value });
    from = isRecord(value) ? end : start + 1;
  }
  return found;
}

/** The text outside the JSON. */
export function withoutJson(text: string): string {
  let from = 0;
  const kept = objectsIn(text).map(({ start, end }) => {
    const before = text.slice(from, start);
    from = end;
    return before;
  });
  return [...kept, text.slice(from)].join(" ");
}
