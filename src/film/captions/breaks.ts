/** A part of a text before which a line may end. */
export interface Piece {
  readonly text: string;
  /** Nothing stands between it and the piece before. */
  readonly isJoined: boolean;
}

/** Of scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** No line begins with what closes, lengthens or repeats, and none ends with what opens. */
const CLOSES = /^[\p{Pe}\p{Pf}\p{Po}\p{M}\p{Lm}ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ]/u;
const OPENS = /[\p{Ps}\p{Pi}]$/u;

// Of one language, so that the same text gives the same lines on every machine. Dictionaries of scripts are in all.
const words = new Intl.Segmenter("en", { granularity: "word" });
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const sentences = new Intl.Segmenter("en", { granularity: "sentence" });

/** The words of a text, of any script. */
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

/** A text in parts that are no wider than a line. */
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

/** Sentences of a script, each a line. */
export function sentencesOf(script: string): readonly string[] {
  return script
    .split("\n")
    .flatMap((line) => [...sentences.segment(line)].map(({ segment }) => segment.trim()))
    .filter((one) => one !== "");
}

/** Parts of a letter's width: by bold letters of the default font, and not less than those of others. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/^[\p{M}\p{Cf}]$/u, 0],
  [/^[iljftrI.,:;'’|!()[\] ]$/u, 0.6],
  [/^[mwMW@%—…ШЩЖЮФМшщжюфмЫы]$/u, 1.9],
  [/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uff60]$/u, 1.7],
  [/^\p{Extended_Pictographic}$/u, 2.2],
  [
    /^[\p{Lu}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Khmer}\p{Script=Myanmar}]$/u,
    1.3,
  ],
];

/** How wide a text is, in letters of the usual width. */
export function widthOf(text: string): number {
  let width = 0;
  for (const sign of text) width += WIDTHS.find(([kind]) => kind.test(sign))?.[1] ?? 1;
  return width;
}
