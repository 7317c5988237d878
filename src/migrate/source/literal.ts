/** Marks that are not seen, or that reorder what is seen. */
const INVISIBLE = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text as a TypeScript literal, quoted as the formatter would. */
export function stringLiteral(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replace(INVISIBLE, escaped);
  const doubles = text.split('"').length;
  const singles = text.split("'").length;
  if (doubles <= singles) return `"${inner}"`;
  return `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Words of a template literal. */
export function templateWords(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replace(INVISIBLE, escaped);
  return inner.replaceAll("`", "\\`").replaceAll("${", "\\${");
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Words of a comment: one line, with nothing hidden in it. */
export function commentWords(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/\p{Cc}/gu, "")
    .replace(INVISIBLE, "")
    .trim();
}

export function numberLiteral(value: number): string {
  return String(value).replace("e+", "e");
}

export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringLiteral(name);
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;

/** Columns that a line takes; characters of East Asian scripts and pictures take two, marks none. */
export function widthOf(line: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line of plain ASCII is as wide as it is long
  if (/^[\x00-\x7f]*$/.test(line)) return line.length;
  let width = 0;
  for (const character of line) {
    if (/[\p{Mn}\p{Me}]/u.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}
