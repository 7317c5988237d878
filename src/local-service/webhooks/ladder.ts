const HOUR_S = 3600;

/** Seconds to wait after each failed attempt but the last. */
const WAITS_S = [10, 30, 90, 270, 810, 2430, HOUR_S, HOUR_S, HOUR_S, HOUR_S, HOUR_S];

/** Attempts of one cycle: of the first sending, and again of each replay. */
export const MAX_ATTEMPTS = WAITS_S.length + 1;

/** Milliseconds until the next attempt after so many failed ones of this cycle; null when there is none. */
export function waitAfter(attempts: number): number | null {
  const seconds = WAITS_S[attempts - 1];
  return seconds === undefined ? null : seconds * 1000;
}
