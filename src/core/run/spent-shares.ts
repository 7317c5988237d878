/** Shares of a budget or a cap that people are notified of, in percent. */
const SHARES = [100, 80, 50] as const;

/** A limit on spending, and what counts for it: spent, held and unconfirmed. */
export interface SpentOf {
  readonly limitMicros: number;
  readonly committedMicros: number;
}

/** The highest share of the limit, in percent, that was passed on the way from `beforeMicros`; null: none. */
export function shareReached({ limitMicros, committedMicros }: SpentOf, beforeMicros: number): number | null {
  const isReached = (share: number, micros: number) => micros * 100 >= limitMicros * share;
  return SHARES.find((share) => isReached(share, committedMicros) && !isReached(share, beforeMicros)) ?? null;
}
