/** True in a full check, which takes hours and tests all cases; other runs test a sample. */
export const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;

/** Returns all items in a full check, otherwise every n-th item and the last. */
export function sampled<T>(all: readonly T[], every: number): readonly T[] {
  return isFull ? all : all.filter((_, index) => index % every === 0 || index === all.length - 1);
}

/** Whole numbers from 1 to `last`, sampled by {@link sampled}. */
export function points(last: number, every: number): readonly number[] {
  return sampled(
    Array.from({ length: last }, (_, index) => index + 1),
    every,
  );
}
