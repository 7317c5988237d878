/** Replaces control characters, escape sequences and bidi marks with visible codes. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\u200E\u200F]/gu, code);
}

export function visibleError(error: unknown): string {
  return visible(error instanceof Error ? error.message : String(error));
}

/** Like {@link visible}, but keeps line breaks. */
export function visibleLines(text: string): string {
  return text.split(/\r?\n/).map(visible).join("\n");
}

/**
 * Replaces control characters with visible codes, except colors, line breaks and tabs. A JSON document still parses to
 * the same value.
 */
export function withoutControl(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  return text.replace(/\u001b\[[0-9;]*m|[\n\t]|\p{Cc}|[\u202A-\u202E\u2066-\u2069]/gu, (found) =>
    found.length > 1 || found === "\n" || found === "\t" ? found : code(found),
  );
}

function code(character: string): string {
  const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return named[character] ?? `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`;
}
