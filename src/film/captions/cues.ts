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

/** As much as can be read at once, by the shape of the film. */
export function limitsFor({ width, height }: { readonly width: number; readonly height: number }): CueLimits {
  const shape = width / height;
  return { letters: shape < 0.9 ? 22 : shape < 1.2 ? 30 : 42 };
}

/** A pause this long within a line begins a new cue, seconds. */
const LONG_PAUSE = 0.7;

/** The cues of one line: as even as they can be, of whole words, ending after a sentence or a comma where there is one. */
export function cuesOf(words: readonly TimedWord[], { letters }: CueLimits): readonly Cue[] {
  const groups: TimedWord[][] = [];
  const whole = textOf(words).length;
  const aim = whole / Math.ceil(whole / (2 * letters));
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
  if (next > 2 * letters - 2) return true;
  const isEnd = /[.!?…。！？]["'”’)]*$/.test(last.text) && length > letters / 2;
  return isEnd || (length >= aim && next > aim + letters / 3);
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
