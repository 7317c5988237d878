/**
 * How a property is looked at: the usual check takes the same examples each time, so that it says of a change what the
 * change did; a full check takes ten times as many, new ones every time.
 */
export function runs(numRuns: number): { readonly numRuns: number; readonly seed?: number } {
  return process.env.SHOWRUNNER_TEST_RUNS === undefined ? { numRuns, seed: 20_261_121 } : { numRuns: 10 * numRuns };
}
