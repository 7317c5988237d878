/**
 * How a property is looked at: the usual check takes the same examples each time, so that it says of a change what the
 * change did; a full check takes ten times as many, new ones every time. Mutation tests take a few.
 * `quick`: how many the usual check takes, by default a fifth.
 */
export function runs(
  numRuns: number,
  quick = Math.max(8, Math.round(numRuns / 5)),
): { readonly numRuns: number; readonly seed?: number } {
  if (process.env.SHOWRUNNER_TEST_RUNS !== undefined) return { numRuns: 10 * numRuns };
  const share = process.env.SHOWRUNNER_TEST_SHARE;
  return { numRuns: share === undefined ? quick : Math.max(8, Math.round(Number(share) * numRuns)), seed: 20_261_121 };
}
