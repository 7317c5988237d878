export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
