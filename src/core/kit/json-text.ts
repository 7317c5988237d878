export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface JsonMistake extends Position {
  readonly message: string;
  /** True if the text is valid JSON, but its value cannot be used. */
  readonly isValid: boolean;
}

/**
 * The deepest nesting that is allowed. Legitimate data is never nested more deeply, and recursive functions do not
 * overflow the stack at this depth.
 */
export const MOST_LEVELS = 500;

export function isTooDeep(value: unknown, most = MOST_LEVELS): boolean {
  for (const { depth } of levelsOf(value)) if (depth > most) return true;
  return false;
}

function* levelsOf(value: unknown): Iterable<{ readonly depth: number; readonly items: readonly unknown[] }> {
  let items = [value];
  for (let depth = 0; items.length > 0; depth++) {
    yield { depth, items };
    items = items.flatMap((item) => (isObject(item) ? Object.values(item) : []));
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Parses JSON. Numbers that would become infinite, and nesting deeper than `mostLevels`, are reported as mistakes. */
export function parseJson(
  text: string,
  mostLevels = Number.POSITIVE_INFINITY,
): { readonly value: unknown } | { readonly mistake: JsonMistake } {
  try {
    const value: unknown = JSON.parse(text);
    const excess = excessIn(text, value, mostLevels);
    if (excess === null) return { value };
    return { mistake: { ...positionAt(text, excess.offset), message: excess.message, isValid: true } };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = reason.replace(/ in JSON at.*|, "[\s\S]*|, \.\.\.[\s\S]*/, "");
    return { mistake: { ...positionAt(text, mistakeOffset(text, reason)), message, isValid: false } };
  }
}

/**
 * Finds the first place in the text where the nesting is too deep or a number is too large. Checks the parsed value
 * first, because searching the text is slow.
 */
function excessIn(text: string, value: unknown, mostLevels: number): Excess | null {
  return isWithin(value, mostLevels) ? null : excessAt(text, mostLevels);
}

function isWithin(value: unknown, mostLevels: number): boolean {
  for (const { depth, items } of levelsOf(value)) {
    if (items.some((item) => typeof item === "number" && !Number.isFinite(item))) return false;
    if (depth >= mostLevels && items.some(isObject)) return false;
  }
  return true;
}

interface Excess {
  readonly offset: number;
  readonly message: string;
}

function excessAt(text: string, mostLevels: number): Excess | null {
  let isInString = false;
  let level = 0;
  for (const { 0: token, index: offset } of text.matchAll(/\\.|"|-?\d[\d.eE+-]*|[[\]{}]/g)) {
    if (token === '"') isInString = !isInString;
    if (isInString) continue;
    if (token === "]" || token === "}") level--;
    if (token === "[" || token === "{") level++;
    if (level > mostLevels) return { offset, message: tooDeep(mostLevels) };
    if (/^-?\d/.test(token) && !Number.isFinite(Number(token)))
      return {
        offset,
        message: `${token.length > 40 ? `${token.slice(0, 40)}…` : token} is too large to be stored as a number`,
      };
  }
  return null;
}

export const tooDeep = (mostLevels = MOST_LEVELS) => `is nested deeper than ${mostLevels} levels`;

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
