import { piecesOf } from "./breaks.ts";
import type { Span } from "./speech.ts";

/** A word with the time at which it is spoken. */
export interface TimedWord extends Span {
  readonly text: string;
  /** True if no space precedes the word, as in scripts without spaces. Default false. */
  readonly isJoined?: boolean;
}

/**
 * Returns how long it takes to speak a text, in relative units: 1 per letter, and 2.5 per digit or East Asian
 * character.
 */
export function weightOf(text: string): number {
  let weight = 0;
  for (const sign of text) {
    if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(sign)) weight += 2.5;
    else if (/\p{N}/u.test(sign)) weight += 2.5;
    else if (/\p{L}/u.test(sign)) weight += 1;
  }
  return Math.max(1, weight);
}

/** The farthest that the end of a line is moved to reach a pause, in seconds. */
const PAUSE_WORTH = 1.2;

/** Estimates the end of each line from the line's length, and moves it to a nearby pause. */
export function alignLines(lines: readonly string[], speech: readonly Span[]): readonly Span[] {
  if (speech.length === 0 || lines.length === 0) return [];
  const total = spoken(speech);
  const expected = cumulative(lines.map(weightOf), total);
  const pauses = pausesOf(speech);
  const chosen = chooseEnds(expected.slice(0, -1), pauses);
  const all = [...chosen, { at: total, pause: null }];
  return all.map((end, index) => {
    const before = all[index - 1];
    const start = before === undefined ? speech[0]!.start : (before.pause?.end ?? clock(before.at, speech));
    return { start, end: end.pause?.start ?? clock(end.at, speech) };
  });
}

interface Pause extends Span {
  readonly at: number;
}

type End = { readonly at: number; readonly pause: Pause | null };

function chooseEnds(expected: readonly number[], pauses: readonly Pause[]): readonly End[] {
  type Way = { readonly cost: number; readonly ends: readonly End[] };
  let ways: readonly Way[] = [{ cost: 0, ends: [] }];
  for (const place of expected) {
    const candidates: readonly End[] = [
      { at: place, pause: null },
      ...pauses.filter(({ at }) => Math.abs(at - place) < 6).map((pause) => ({ at: pause.at, pause })),
    ];
    ways = candidates.flatMap((end) => {
      const before = ways.filter(({ ends }) => (ends.at(-1)?.at ?? 0) < end.at - 0.05 || ends.length === 0);
      const best = before.reduce<Way | null>(
        (least, way) => (least === null || way.cost < least.cost ? way : least),
        null,
      );
      if (best === null) return [];
      const worth = end.pause === null ? 0 : PAUSE_WORTH * Math.min(1, (end.pause.end - end.pause.start) / 0.4);
      return [{ cost: best.cost + Math.abs(end.at - place) - worth, ends: [...best.ends, end] }];
    });
  }
  return ways.toSorted((a, b) => a.cost - b.cost)[0]?.ends ?? expected.map((at) => ({ at, pause: null }));
}

export function alignWords(line: string, span: Span, speech: readonly Span[]): readonly TimedWord[] {
  const words = piecesOf(line);
  const within = speech
    .map(({ start, end }) => ({ start: Math.max(start, span.start), end: Math.min(end, span.end) }))
    .filter(({ start, end }) => end > start);
  const parts = within.length === 0 ? [span] : within;
  const ends = cumulative(
    words.map(({ text }) => weightOf(text)),
    spoken(parts),
  );
  return words.map(({ text, isJoined }, index) => ({
    text,
    ...(isJoined && { isJoined }),
    start: index === 0 ? span.start : clock(ends[index - 1]!, parts, true),
    end: index === words.length - 1 ? span.end : clock(ends[index]!, parts),
  }));
}

function spoken(spans: readonly Span[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0);
}

function cumulative(weights: readonly number[], total: number): readonly number[] {
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.map((weight) => {
    sum += weight;
    return (sum / all) * total;
  });
}

function pausesOf(speech: readonly Span[]): readonly Pause[] {
  let at = 0;
  return speech.slice(0, -1).map((span, index) => {
    at += span.end - span.start;
    return { at, start: span.end, end: speech[index + 1]!.start };
  });
}

/**
 * Returns the time at which `at` seconds of speech have elapsed. If a pause begins at that time, returns the pause's
 * start or, with `isNext`, its end.
 */
function clock(at: number, speech: readonly Span[], isNext = false): number {
  let rest = at;
  for (const { start, end } of speech) {
    if (rest < end - start - (isNext ? 1e-6 : -1e-6)) return start + rest;
    rest -= end - start;
  }
  return speech.at(-1)!.end;
}
