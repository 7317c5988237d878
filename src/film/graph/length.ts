import { oneOf } from "../check-options.ts";

/**
 * How long a film is whose pictures and sound do not end together. `pictures`: as its pictures; longer sound is cut, shorter sound
 * is followed by silence. `sound`: as its sound; the last picture is held, or pictures are cut. `longest`: nothing is cut.
 */
export type Length = "pictures" | "sound" | "longest";

export const LENGTH = oneOf("pictures", "sound", "longest");

/** Less is the rounding of frames and of coders of sound, and no difference, seconds. */
export const ALIKE_SECONDS = 0.05;

/** Seconds of the film. `sound`: null where there is none whose end counts, such as music alone. */
export function filmSeconds(pictures: number, sound: number | null, length: Length = "longest"): number {
  if (sound === null || length === "pictures" || Math.abs(pictures - sound) < ALIKE_SECONDS) return pictures;
  return length === "sound" ? sound : Math.max(pictures, sound);
}

/** What of the two is lost or held, in words for people; null where they end together. */
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
