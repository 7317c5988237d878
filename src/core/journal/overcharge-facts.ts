/** How much a model charged above its quotes, or above the allowed maximum if it quotes nothing. */
export interface Overcharge {
  /** The charge with the highest ratio to its quote; null if nothing was quoted. */
  worst: { readonly quotedMicros: number; readonly chargedMicros: number } | null;
  /** The highest charge above the allowed maximum, or above a quote of zero; null if there was none. */
  unquotedMicros: number | null;
  /** Number of such bills; 0 if all were later corrected downwards. */
  times: number;
  /** Total overcharge. */
  excessMicros: number;
  /** True if the newest bill was above its quote: until one agrees again, the model's jobs are bought one at a time. */
  isAbove?: true;
  /** True if a bill agreed with a quote of zero. */
  isFree?: true;
}
