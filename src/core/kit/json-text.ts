/** A position in a text. Both numbers start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface JsonMistake extends Position {
  readonly message: string;
}

/** Legitimate data is never nested deeper, and recursive functions do not overflow the stack at this depth. */
export const MOST_LEVELS = 500;

export function isTooDeep(value: unknown, most = MOST_LEVELS): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}

export function parseJson(text: string): { readonly value: unknown } | { readonly mistake: JsonMistake } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = reason.replace(/ in JSON at.*|, "[\s\S]*|, \.\.\.[\s\S]*/, "");
    return { mistake: { ...positionAt(text, mistakeOffset(text, reason)), message } };
  }
}

export function positionAt(text: string, offset: number): Position {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}

function mistakeOffset(text: string, message: string): number {
  const named = /at position (\d+)/.exec(message);
  if (named) return Number(named[1]);
  if (!isUnexpectedToken(message)) return text.length;
  let holdsNone = 0;
  let holdsOne = text.length;
  while (holdsOne - holdsNone > 1) {
    const middle = (holdsNone + holdsOne) >> 1;
    if (isUnexpectedToken(saidOf(text.slice(0, middle)))) holdsOne = middle;
    else holdsNone = middle;
  }
  return holdsNone;
}

const isUnexpectedToken = (message: string) => message.startsWith("Unexpected token");

function saidOf(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}
