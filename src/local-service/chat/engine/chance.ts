import { createHash } from "node:crypto";

/** Random draws from a seed: equal requests get equal answers. */
export interface Chance {
  /** An integer from 0 to below `below`. */
  below(below: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
}

/** A small generator with 32 bits of state. */
export function chanceFrom(seed: string): Chance {
  let state = createHash("sha256").update(seed).digest().readUInt32LE(0);
  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (from) => from[below(from.length)] ?? from[0] };
}
