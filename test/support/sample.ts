/** A test of every change looks at a part; a full check, which takes hours, at all of it. */
export const isFull = process.env.SHOWRUNNER_TEST_RUNS !== undefined;

/** All of them in a full check, else every n-th and the last. */
export function sampled<T>(all: readonly T[], every: number): readonly T[] {
  return isFull ? all : all.filter((_, index) => index % every === 0 || index === all.length - 1);
}

/** Whole numbers from 1 to `last`, sampled alike. */
export function points(last: number, every: number): readonly number[] {
  return sampled(
    Array.from({ length: last }, (_, index) => index + 1),
    every,
  );
}
