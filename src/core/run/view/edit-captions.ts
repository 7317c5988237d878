/** A line that is shown, seconds of the film. */
export interface EditCaption {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A film that a function took, with the lines that are shown in it. */
export interface Captioned {
  readonly seconds: number | null;
  readonly captions: readonly EditCaption[];
}

/**
 * Lines of what a function made: its own, and those of the films that it took, where it is known when those begin. `value`: what
 * it gave. `{ starts: [seconds] }` says when each film begins, as `join`, `trim`, `mix` and `overlay` say it; one film that is
 * as long as before begins where it began. Lines of other films are left out: they would stand where nobody says them.
 */
export function captionsOf(
  value: unknown,
  { films, seconds }: { readonly films: readonly Captioned[]; readonly seconds: number | null },
): readonly EditCaption[] {
  const starts = startsOf(value, films, seconds);
  const moved = films.flatMap(({ captions }, index) => {
    const by = starts?.[index];
    if (by === undefined) return [];
    return captions.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }));
  });
  const end = seconds ?? Number.POSITIVE_INFINITY;
  const shown = moved.filter((caption) => caption.end > 0 && caption.start < end);
  return [
    ...ownCaptions(value),
    ...shown.map((caption) => ({ ...caption, start: Math.max(0, caption.start), end: Math.min(end, caption.end) })),
  ];
}

/** Seconds by which the length of a film may differ that was only coded anew. */
const SAME_SECONDS = 0.05;

function startsOf(value: unknown, films: readonly Captioned[], seconds: number | null): readonly number[] | null {
  const starts = typeof value === "object" && value !== null && "starts" in value ? value.starts : null;
  if (Array.isArray(starts) && starts.length === films.length && starts.every((start) => typeof start === "number"))
    return starts;
  const [film] = films;
  if (films.length !== 1 || film!.seconds === null || seconds === null) return null;
  return Math.abs(film!.seconds - seconds) <= SAME_SECONDS ? [0] : null;
}

/** Lines that a function gave as its value: `{ cues: [{ start, end, text }] }`, as `caption` does. */
function ownCaptions(value: unknown): readonly EditCaption[] {
  const cues = typeof value === "object" && value !== null && "cues" in value ? value.cues : null;
  if (!Array.isArray(cues)) return [];
  return cues.flatMap((cue: unknown): readonly EditCaption[] => {
    if (typeof cue !== "object" || cue === null || !("start" in cue && "end" in cue && "text" in cue)) return [];
    const { start, end, text } = cue;
    const isLine = typeof start === "number" && typeof end === "number" && end >= start && typeof text === "string";
    return isLine ? [{ start, end, text }] : [];
  });
}
