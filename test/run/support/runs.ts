/**
 * How a property is looked at: the usual check takes the same examples each time, so that it says of a change what the
 * change did; a full check takes ten times as many, new ones every time. Mutation tests take a few.
 */
export function runs(numRuns: number): { readonly numRuns: number; readonly seed?: number } {
  if (process.env.SHOWRUNNER_TEST_RUNS !== undefined) return { numRuns: 10 * numRuns };
  const share = Number(process.env.SHOWRUNNER_TEST_SHARE ?? 0.2);
  return { numRuns: Math.max(8, Math.round(share * numRuns)), seed: 20_261_121 };
}
