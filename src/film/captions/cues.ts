import { HOUR_MS } from "../../core/kit/duration.ts";
import { type TimedWord, weightOf } from "./align.ts";
import { partsWithin, piecesOf, widthOf } from "./breaks.ts";
import type { Span } from "./speech.ts";

/** A caption: text that appears and disappears as a unit. */
export interface Cue extends Span {
  /** The text in one or two lines. */
  readonly text: string;
  readonly words: readonly TimedWord[];
}

interface CueLimits {
  /** Maximum width of a line, in average letter widths. */
  readonly letters: number;
}

/** Number of letters of average width that fit along the frame's shorter side at the default text size. */
const BESIDE = 22;
const MOST_READ = 42;

/**
 * Returns the limits for cues in a frame. `size` is the text height as a fraction of the shorter side. `most` is the
 * requested maximum line length.
 */
export function limitsFor(
  { width, height }: { readonly width: number; readonly height: number },
  { size = 0.05, most = MOST_READ }: { readonly size?: number | undefined; readonly most?: number | undefined } = {},
): CueLimits {
  const fit = Math.floor((BESIDE * (width / Math.min(width, height)) * 0.05) / size);
  return { letters: Math.max(LEAST, Math.min(most, fit)) };
}

/** Lower limit for the number of letters per line. This many fit even if the text is half as high as the frame. */
const LEAST = 2;

/** A pause longer than this many seconds starts a new cue. */
const LONG_PAUSE = 0.7;

/** Splits spoken words into cues of similar length, preferably at the ends of sentences. */
export function cuesOf(given: readonly TimedWord[], { letters }: CueLimits): readonly Cue[] {
  const words = given.flatMap((word) => brokenWord(word, letters));
  const groups: TimedWord[][] = [];
  const whole = widthOf(textOf(words));
  // Less than two full lines, because words rarely fill a line.
  const capacity = Math.max(letters, 2 * letters - 4);
  const aim = whole / Math.ceil(whole / capacity);
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

export function textOf(words: readonly TimedWord[]): string {
  return words.map(({ text, isJoined }, index) => (index === 0 || isJoined === true ? text : ` ${text}`)).join("");
}

function linesOf(words: readonly TimedWord[], letters: number): readonly string[] {
  const whole = textOf(words);
  if (widthOf(whole) <= letters || words.length < 2) return [whole];
  const breaks = words.slice(1).map((_, index) => {
    const lines = [textOf(words.slice(0, index + 1)), textOf(words.slice(index + 1))];
    return { lines, widest: Math.max(...lines.map(widthOf)) };
  });
  return breaks.reduce((best, one) => (one.widest < best.widest ? one : best)).lines;
}

export function srt(cues: readonly Cue[]): string {
  // An arrow in the text would start a cue.
  const escaped = (text: string) => text.replaceAll("-->", "--\u2060>");
  return cues
    .map(({ start, end, text }, i) => `${i + 1}\n${stamp(start, ",")} --> ${stamp(end, ",")}\n${escaped(text)}\n`)
    .join("\n");
}

export function vtt(cues: readonly Cue[]): string {
  const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `WEBVTT\n\n${cues.map(({ start, end, text }) => `${stamp(start, ".")} --> ${stamp(end, ".")}\n${escaped(text)}\n`).join("\n")}`;
}

function stamp(seconds: number, point: "," | "."): string {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${two(ms / HOUR_MS)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${point}${String(ms % 1000).padStart(3, "0")}`;
}
