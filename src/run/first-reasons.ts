const MOST_REASONS = 3;

/** The first of many reasons and how many there are besides: one line is read, forty are not. */
export function firstReasons(reasons: readonly string[]): string {
  const more = reasons.length - MOST_REASONS;
  return reasons.slice(0, MOST_REASONS).join("; ") + (more > 0 ? `; and ${more} more` : "");
}
