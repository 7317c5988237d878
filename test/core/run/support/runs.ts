/**
 * Settings for checking a property. The usual check always uses the same examples, so that a failure is caused by a
 * change. A full check uses ten times as many new examples, and mutation tests use only a few.
 * `quick`: number of examples in the usual check, by default a fifth.
 */
export function runs(
  numRuns: number,
  quick = Math.max(8, Math.round(numRuns / 5)),
): { readonly numRuns: number; readonly seed?: number } {
  if (process.env.SHOWRUNNER_TEST_RUNS !== undefined) return { numRuns: 10 * numRuns };
  const share = process.env.SHOWRUNNER_TEST_SHARE;
  return { numRuns: share === undefined ? quick : Math.max(8, Math.round(Number(share) * numRuns)), seed: 20_261_121 };
}
