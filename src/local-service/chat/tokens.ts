/** A word of up to five letters or digits, or one other character, with the white space before it. */
const TOKEN = /\s+$|\s*[\p{L}\p{M}\p{N}_]{1,5}|\s*[^\s\p{L}\p{M}\p{N}_]/gu;

/** Splits a text into what is counted and streamed; the pieces joined are the text. About four characters each. */
export function tokenize(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}
