/** Where a JSON text goes wrong. Lines and columns count from 1. */
export interface JsonMistake {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** The value of a JSON text, or the place of its first mistake. */
export function parseJson(text: string): { readonly value: unknown } | { readonly mistake: JsonMistake } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const before = text.slice(0, mistakeOffset(text, message));
    const lines = before.split("\n");
    return {
      mistake: {
        line: lines.length,
        column: (lines.at(-1)?.length ?? 0) + 1,
        message: message.replace(/ in JSON at.*|, "[\s\S]*|, \.\.\.[\s\S]*/, ""),
      },
    };
  }
}

/**
 * The engine names the offset of most mistakes, but not of an unexpected token: that one is the shortest beginning of
 * the text that already holds it, found by halving.
 */
function mistakeOffset(text: string, message: string): number {
  const named = /at position (\d+)/.exec(message);
  if (named) return Number(named[1]);
  if (!isUnexpectedToken(message)) return text.length;
  let holdsNone = 0;
  let holdsOne = text.length;
  while (holdsOne - holdsNone > 1) {
    const middle = (holdsNone + holdsOne) >> 1;
    if (isUnexpectedToken(mistakeOf(text.slice(0, middle)))) holdsOne = middle;
    else holdsNone = middle;
  }
  return holdsNone;
}

function isUnexpectedToken(message: string): boolean {
  return message.startsWith("Unexpected token");
}

function mistakeOf(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}
