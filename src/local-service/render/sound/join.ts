import { toRate } from "./resample.ts";
import { lengthOf, type Sound, toMono } from "./sound.ts";

/** One sound after the other, at the rate of the first; several become mono. */
export function joinSounds(first: Sound, rest: readonly Sound[]): Sound {
  if (rest.length === 0) return first;
  const parts = [first, ...rest].map((sound) => toMono(toRate(sound, first.rate)));
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return { rate: first.rate, channels: [joined.subarray(0, Math.max(at, lengthOf(first)))] };
}
