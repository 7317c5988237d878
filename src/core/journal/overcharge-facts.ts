/** What a model charged above its quotes, or above the most that was allowed where it quotes nothing. */
export interface Overcharge {
  /** Where the ratio was greatest; null where nothing was quoted. */
  worst: { readonly quotedMicros: number; readonly chargedMicros: number } | null;
  /** The greatest charge above what was allowed, or above a quote of nothing; null where there was none. */
  unquotedMicros: number | null;
  /** How often; 0 where every bill that was above it came again with a lower sum. */
  times: number;
  /** Sum of what was charged too much. */
  excessMicros: number;
  /** Whether the newest bill was above its quote: until one agrees again, its jobs are bought one at a time. */
  isAbove?: true;
  /** A bill agreed with a quote of nothing. */
  isFree?: true;
}
