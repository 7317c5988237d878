/** Number of seeds for a suite of faults; higher in the full check. */
export const seedCount = process.env["SHOWRUNNER_TEST_RUNS"] === undefined ? 20 : 1000;

/** Returns a generator of numbers from 0 to below 1, with the same sequence for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}
