import { toRate } from "./resample.ts";
import { joined, type Sound, toMono } from "./sound.ts";

/** One sound after the other, at the rate of the first; several become mono. */
export function joinSounds(first: Sound, rest: readonly Sound[]): Sound {
  if (rest.length === 0) return first;
  const parts = [first, ...rest].map((sound) => toMono(toRate(sound, first.rate)));
  return { rate: first.rate, channels: [joined(parts)] };
}
