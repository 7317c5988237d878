import type { TimedWord } from "./align.ts";
import type { Span } from "./speech.ts";

/** What is shown at once. */
export interface Cue extends Span {
  /** One or two lines. */
  readonly text: string;
  readonly words: readonly TimedWord[];
}

export interface CueLimits {
  /** Letters of a line; a cue has two. */
  readonly letters: number;
}

/** Letters of the usual size that stand beside each other on the shorter side. */
const BESIDE = 23;
const MOST_READ = 42;

/** As many letters as fit, and can be read at once. `size`: their height as a part of the shorter side. */
export function limitsFor(
  { width, height }: { readonly width: number; readonly height: number },
  size = 0.05,
): CueLimits {
  const fit = (BESIDE * (width / Math.min(width, height)) * 0.05) / size;
  return { letters: Math.max(8, Math.min(MOST_READ, Math.floor(fit))) };
}

/** A pause this long within a line begins a new cue, seconds. */
const LONG_PAUSE = 0.7;

/** The cues of one line: as even as they can be, of whole words, ending after a sentence or a comma where there is one. */
export function cuesOf(words: readonly TimedWord[], { letters }: CueLimits): readonly Cue[] {
  const groups: TimedWord[][] = [];
  const whole = textOf(words).length;
  const aim = whole / Math.ceil(whole / capacity(letters));
  for (const word of words) {
    const last = groups.at(-1);
    if (last === undefined || isFull(last, word, { letters, aim })) groups.push([word]);
    else last.push(word);
  }
  return groups.map((group) => ({
    start: group[0]!.start,
    end: group.at(-1)!.end,
    text: twoLines(group, letters),
    words: group,
  }));
}

function isFull(
  group: readonly TimedWord[],
  word: TimedWord,
  { letters, aim }: CueLimits & { readonly aim: number },
): boolean {
  const length = textOf(group).length;
  const last = group.at(-1)!;
  if (word.start - last.end > LONG_PAUSE) return true;
  const next = textOf([...group, word]).length;
  if (next > capacity(letters)) return true;
  const isEnd = /[.!?…。！？]["'”’)]*$/.test(last.text) && length > letters / 2;
  return isEnd || next - aim > Math.abs(aim - length);
}

/** Letters of two lines, which words never fill to the end. */
function capacity(letters: number): number {
  return Math.max(letters, 2 * letters - 4);
}

function textOf(words: readonly TimedWord[]): string {
  return words.map(({ text }) => text).join(" ");
}

/** Broken where both lines are about as long. */
function twoLines(words: readonly TimedWord[], letters: number): string {
  const whole = textOf(words);
  if (whole.length <= letters || words.length < 2) return whole;
  const breaks = words.slice(1).map((_, index) => {
    const [upper, lower] = [textOf(words.slice(0, index + 1)), textOf(words.slice(index + 1))];
    return { upper, lower, longest: Math.max(upper.length, lower.length) };
  });
  const { upper, lower } = breaks.reduce((best, one) => (one.longest < best.longest ? one : best));
  return `${upper}\n${lower}`;
}
