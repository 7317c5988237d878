/** A word as a shell takes it literally: quoted only where it has to be. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
