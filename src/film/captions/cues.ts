import { type TimedWord, weightOf } from "./align.ts";
import { partsWithin, piecesOf, widthOf } from "./breaks.ts";
import type { Span } from "./speech.ts";

/** What is shown at once. */
export interface Cue extends Span {
  /** One or two lines. */
  readonly text: string;
  readonly words: readonly TimedWord[];
}

export interface CueLimits {
  /** Width of a line, in letters of the usual width; a cue has two. */
  readonly letters: number;
}

/** Letters of the usual size that stand beside each other on the shorter side. */
const BESIDE = 23;
const MOST_READ = 42;

/**
 * As many letters as fit, and can be read at once. `size`: their height as a part of the shorter side; `most`: letters of a line that
 * were asked for.
 */
export function limitsFor(
  { width, height }: { readonly width: number; readonly height: number },
  { size = 0.05, most = MOST_READ }: { readonly size?: number | undefined; readonly most?: number | undefined } = {},
): CueLimits {
  const fit = Math.floor((BESIDE * (width / Math.min(width, height)) * 0.05) / size);
  return { letters: Math.max(LEAST, Math.min(most, fit)) };
}

/** Of a line: of letters as high as half of a picture there are so many beside each other. */
const LEAST = 2;

/** A pause this long within a line begins a new cue, seconds. */
const LONG_PAUSE = 0.7;

/** The cues of one line: as even as they can be, of whole words, ending after a sentence or a comma where there is one. */
export function cuesOf(given: readonly TimedWord[], { letters }: CueLimits): readonly Cue[] {
  const words = given.flatMap((word) => brokenWord(word, letters));
  const groups: TimedWord[][] = [];
  const whole = widthOf(textOf(words));
  const aim = whole / Math.ceil(whole / capacity(letters));
  for (const word of words) {
    const last = groups.at(-1);
    if (last === undefined || isFull(last, word, { letters, aim })) groups.push([word]);
    else last.push(word);
  }
  return groups.map((group) => ({
    start: group[0]!.start,
    end: group.at(-1)!.end,
    text: linesOf(group, letters).join("\n"),
    words: group,
  }));
}

/** A word that is wider than a line, or several that were given as one, in parts that are not, each for as long as its letters take. */
function brokenWord(word: TimedWord, letters: number): readonly TimedWord[] {
  if (widthOf(word.text) <= letters) return [word];
  const parts = piecesOf(word.text).flatMap((piece) =>
    partsWithin(piece.text, letters).map((text, index) => ({ text, isJoined: index > 0 || piece.isJoined })),
  );
  const all = parts.reduce((sum, { text }) => sum + weightOf(text), 0);
  let end = word.start;
  return parts.map(({ text, isJoined }, index) => {
    const start = end;
    end += (weightOf(text) / all) * (word.end - word.start);
    return { text, start, end, ...((index === 0 ? word.isJoined === true : isJoined) && { isJoined: true }) };
  });
}

function isFull(
  group: readonly TimedWord[],
  word: TimedWord,
  { letters, aim }: CueLimits & { readonly aim: number },
): boolean {
  const width = widthOf(textOf(group));
  const last = group.at(-1)!;
  if (word.start - last.end > LONG_PAUSE) return true;
  if (linesOf([...group, word], letters).some((line) => widthOf(line) > letters)) return true;
  const isEnd = /[\p{Sentence_Terminal}…]["'”’»)]*$/u.test(last.text) && width > letters / 2;
  const next = widthOf(textOf([...group, word]));
  return isEnd || next - aim > Math.abs(aim - width);
}

/** Width of two lines, which words never fill to the end. */
function capacity(letters: number): number {
  return Math.max(letters, 2 * letters - 4);
}

/** Words with the spaces that are between them. */
export function textOf(words: readonly TimedWord[]): string {
  return words.map(({ text, isJoined }, index) => (index === 0 || isJoined === true ? text : ` ${text}`)).join("");
}

/** One line, or two that are about as wide. */
function linesOf(words: readonly TimedWord[], letters: number): readonly string[] {
  const whole = textOf(words);
  if (widthOf(whole) <= letters || words.length < 2) return [whole];
  const breaks = words.slice(1).map((_, index) => {
    const lines = [textOf(words.slice(0, index + 1)), textOf(words.slice(index + 1))];
    return { lines, widest: Math.max(...lines.map(widthOf)) };
  });
  return breaks.reduce((best, one) => (one.widest < best.widest ? one : best)).lines;
}
