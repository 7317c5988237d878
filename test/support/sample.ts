/**
 * The second command and a full check look at all of it; a quick test, which runs before every commit, at a part. Files that
 * import this run in both.
 */
export const isWhole =
  process.env.SHOWRUNNER_TEST_WHOLE !== undefined || process.env.SHOWRUNNER_TEST_RUNS !== undefined;

/** A full check, which takes hours, looks at the most. */
export const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;

/** All of them, or in a quick test every n-th and the last. */
export function sampled<T>(all: readonly T[], every: number): readonly T[] {
  return isWhole ? all : all.filter((_, index) => index % every === 0 || index === all.length - 1);
}

/** Whole numbers from 1 to `last`, sampled alike. */
export function points(last: number, every: number): readonly number[] {
  return sampled(
    Array.from({ length: last }, (_, index) => index + 1),
    every,
  );
}
