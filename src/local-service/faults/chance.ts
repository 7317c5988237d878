/** A number from 0 to below 1 that follows from its two seeds alone. */
export function chance(seed: number, draw: number): number {
  let mixed = Math.imul(seed ^ (draw + 0x9e3779b9), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x27d4eb2f);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 4_294_967_296;
}
