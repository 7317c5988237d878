export interface Piece {
  readonly text: string;
  /** True if no space separates the piece from the previous piece. */
  readonly isJoined: boolean;
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Characters that must not start a line, such as closing brackets and small kana, and those that must not end one. */
const CLOSES = /^[\p{Pe}\p{Pf}\p{Po}\p{M}\p{Lm}ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ]/u;
const OPENS = /[\p{Ps}\p{Pi}]$/u;

// The locale is fixed, so that text breaks the same way on every machine. Every locale has the dictionaries of all
// scripts.
const words = new Intl.Segmenter("en", { granularity: "word" });
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

export function piecesOf(text: string): readonly Piece[] {
  const spaced = text.split(/\s+/u).filter((word) => word !== "");
  return spaced.flatMap((word) => {
    const parts: string[] = [];
    for (const { segment } of UNSPACED.test(word) ? words.segment(word) : [{ segment: word }]) {
      const last = parts.at(-1);
      if (last !== undefined && (CLOSES.test(segment) || OPENS.test(last))) parts[parts.length - 1] = last + segment;
      else parts.push(segment);
    }
    return parts.map((part, index) => ({ text: part, isJoined: index > 0 }));
  });
}

export function partsWithin(text: string, letters: number): readonly string[] {
  if (widthOf(text) <= letters) return [text];
  const parts: string[] = [];
  let width = Number.POSITIVE_INFINITY;
  for (const { segment } of graphemes.segment(text)) {
    const more = widthOf(segment);
    if (width + more > letters) parts.push("");
    width = width + more > letters ? more : width + more;
    parts[parts.length - 1] += segment;
  }
  return parts;
}

export function sentencesOf(script: string): readonly string[] {
  return script
    .split("\n")
    .flatMap((line) => [...sentences.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => sentence !== "");
}

/** Character widths relative to an average letter, measured in the bold default font. Other fonts are rarely wider. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/^[\p{M}\p{Cf}]$/u, 0],
  [/^[iljftrI.,:;'’|!()[\] ]$/u, 0.6],
  [/^[mwMW@%—…ШЩЖЮФМшщжюфмЫы]$/u, 1.9],
  [/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー\u3000-\u303f\uff00-\uff60]$/u, 1.7],
  [/^\p{Nd}$/u, 1.1],
  [/^\p{Extended_Pictographic}$/u, 2.2],
  [
    /^[\p{Lu}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Khmer}\p{Script=Myanmar}]$/u,
    1.3,
  ],
];

export function widthOf(text: string): number {
  let width = 0;
  for (const sign of text) width += WIDTHS.find(([kind]) => kind.test(sign))?.[1] ?? 1;
  return width;
}
