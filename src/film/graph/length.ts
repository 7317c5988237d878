import { oneOf } from "../check-options.ts";

/**
 * Duration of a film whose pictures and audio end at different times. `pictures`: longer audio is cut, shorter audio is
 * followed by silence. `sound`: the last picture is held, or pictures are cut. `longest`: nothing is cut.
 */
export type Length = "pictures" | "sound" | "longest";

export const LENGTH = oneOf("pictures", "sound", "longest");

/** Smaller differences come from rounding, in seconds. */
export const ALIKE_SECONDS = 0.05;

/** Duration of the film in seconds. `sound`: null if no audio determines the end, as with music only. */
export function filmSeconds(pictures: number, sound: number | null, length: Length = "longest"): number {
  if (sound === null || length === "pictures" || Math.abs(pictures - sound) < ALIKE_SECONDS) return pictures;
  return length === "sound" ? sound : Math.max(pictures, sound);
}

/** What is lost or held, worded for people; null if both end together. */
export function lengthNote(
  what: string,
  of: { readonly pictures: number; readonly sound: number; readonly length: Length | undefined },
): string | null {
  const { pictures, sound, length } = of;
  const seconds = filmSeconds(pictures, sound, length);
  if (seconds - pictures >= ALIKE_SECONDS) {
    const held = `the last picture is held for ${say(seconds - pictures)}`;
    return `${what} lasts ${say(sound)} and the pictures ${say(pictures)}: ${held}`;
  }
  if (sound - seconds >= ALIKE_SECONDS)
    return `${what} lasts ${say(sound)} and the pictures ${say(pictures)}: its last ${say(sound - seconds)} are cut`;
  if (pictures - seconds >= ALIKE_SECONDS)
    return `${what} lasts ${say(sound)} and the pictures ${say(pictures)}: their last ${say(pictures - seconds)} are cut`;
  return null;
}

function say(seconds: number): string {
  return `${Number(seconds.toFixed(1))} s`;
}
