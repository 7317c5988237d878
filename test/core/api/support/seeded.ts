/** How many seeds a suite of faults tries; more in the full check. */
export const seedCount = process.env["SHOWRUNNER_TEST_RUNS"] === undefined ? 20 : 1000;

/** A number from 0 to below 1 that is the same for the same seed, every time. */
export function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}
