/** Frames a second as ffmpeg takes them without a rounding: 29.97 is 30000/1001. */
export interface Rate {
  readonly text: string;
  readonly fps: number;
}

const [LEAST, MOST, USUAL] = [10, 60, 30];

/** A rate that players like, close to what was measured or asked for. */
export function rateOf(fps: number): Rate {
  if (!(fps > 0)) return { text: String(USUAL), fps: USUAL };
  const inside = Math.min(MOST, Math.max(LEAST, fps));
  const whole = Math.round(inside);
  const slow = (whole * 1000) / 1001;
  if (Math.abs(inside - slow) < Math.abs(inside - whole) && Math.abs(inside - slow) < 0.01)
    return { text: `${whole * 1000}/1001`, fps: slow };
  return { text: String(whole), fps: whole };
}

/** A blend is timed by this part of a frame early: its frame lies at a rounded instant, and must not be found too late. */
export const EARLY = 0.25;

/** Frames from the beginning to the end of each clip, in one count: rounding each clip alone would add up. */
export function frameEnds(seconds: readonly number[], { fps }: Rate): readonly number[] {
  let at = 0;
  return seconds.map((one) => {
    at += one;
    return Math.round(at * fps);
  });
}

/** Differences of a growing row. */
export function steps(ends: readonly number[]): readonly number[] {
  return ends.map((end, index) => end - (ends[index - 1] ?? 0));
}
