/** Quotes a word for a shell, if needed. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
