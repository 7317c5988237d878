import stringWidth from "string-width";

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns that a text takes on a terminal: two for an ideograph or an emoji, none for a combining mark. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** At most `width` columns, the end replaced by an ellipsis. */
export function shorten(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let short = "";
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOf(segment);
    if (left < 0) break;
    short += segment;
  }
  return `${short}…`;
}

/** Filled with spaces up to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
