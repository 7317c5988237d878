/** A stretch of a film, seconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What the filters of ffmpeg that look for a stretch say of it. */
const WORDS = {
  black: [/black_start:\s*(-?[\d.]+)/, /black_end:\s*(-?[\d.]+)/],
  frozen: [/freeze_start:\s*(-?[\d.]+)/, /freeze_end:\s*(-?[\d.]+)/],
  silent: [/silence_start:\s*(-?[\d.]+)/, /silence_end:\s*(-?[\d.]+)/],
} as const;

/** The stretches that a filter found; none lasts beyond `seconds`. */
export function spansOf(said: string, what: keyof typeof WORDS, seconds: number): readonly Span[] {
  const [start, end] = WORDS[what];
  const spans: Span[] = [];
  let from: number | null = null;
  for (const line of said.split("\n")) {
    const begun = start.exec(line)?.[1];
    if (begun !== undefined) from = Math.max(0, Number(begun));
    const ended = end.exec(line)?.[1];
    if (ended === undefined || from === null) continue;
    spans.push({ from, to: Math.min(seconds, Number(ended)) });
    from = null;
  }
  return from === null ? spans : [...spans, { from, to: seconds }];
}

export const lengthOf = (spans: readonly Span[]) => spans.reduce((sum, { from, to }) => sum + to - from, 0);
