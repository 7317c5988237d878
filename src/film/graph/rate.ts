/** A frame rate in ffmpeg's exact form: 29.97 is 30000/1001. */
export interface Rate {
  readonly text: string;
  readonly fps: number;
}

const [LEAST, MOST, USUAL] = [10, 60, 30];

/** The standard frame rate closest to a measured or requested rate. */
export function rateOf(fps: number): Rate {
  if (!(fps > 0)) return { text: String(USUAL), fps: USUAL };
  const inside = Math.min(MOST, Math.max(LEAST, fps));
  const whole = Math.round(inside);
  const slow = (whole * 1000) / 1001;
  if (Math.abs(inside - slow) < Math.abs(inside - whole) && Math.abs(inside - slow) < 0.01)
    return { text: `${whole * 1000}/1001`, fps: slow };
  return { text: String(whole), fps: whole };
}

/** Fraction of a frame by which a blend starts early, so that rounding does not skip its first frame. */
export const EARLY = 0.25;

/** The frame at which each clip ends, counted over the whole film, so that rounding errors do not add up. */
export function frameEnds(seconds: readonly number[], { fps }: Rate): readonly number[] {
  let at = 0;
  return seconds.map((length) => {
    at += length;
    return Math.round(at * fps);
  });
}

/** Differences between successive values. */
export function steps(ends: readonly number[]): readonly number[] {
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
}
