/** `text` is the exact rate for ffmpeg, such as `30000/1001` for 29.97. */
export interface Rate {
  readonly text: string;
  readonly fps: number;
}

const [LEAST, MOST, USUAL] = [10, 60, 30];

export function rateOf(fps: number): Rate {
  if (!(fps > 0)) return { text: String(USUAL), fps: USUAL };
  const inside = Math.min(MOST, Math.max(LEAST, fps));
  const whole = Math.round(inside);
  const slow = (whole * 1000) / 1001;
  if (Math.abs(inside - slow) < Math.abs(inside - whole) && Math.abs(inside - slow) < 0.01)
    return { text: `${whole * 1000}/1001`, fps: slow };
  return { text: String(whole), fps: whole };
}

/** A cross-fade starts earlier by this fraction of a frame, so that rounding cannot skip its first frame. */
export const EARLY = 0.25;

/** Counts frames from the start of the film, so that rounding errors do not add up. */
export function frameEnds(seconds: readonly number[], { fps }: Rate): readonly number[] {
  let at = 0;
  return seconds.map((length) => {
    at += length;
    return Math.round(at * fps);
  });
}

export function steps(ends: readonly number[]): readonly number[] {
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
}
