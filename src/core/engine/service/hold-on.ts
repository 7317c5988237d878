/** Between tries of what may be there again in a moment, milliseconds. */
export const FIRST_WAITS_MS: readonly number[] = [1_000, 4_000, 15_000];
const MOST_TRIES = 40;

/**
 * Milliseconds until something of ours that fails, such as a disk, is tried again, where what a provider made is nowhere else;
 * null after some ten minutes. `tries`: how many came before this one.
 */
export function holdOnMs(tries: number): number | null {
  return FIRST_WAITS_MS[tries] ?? (tries < MOST_TRIES ? FIRST_WAITS_MS.at(-1)! : null);
}
