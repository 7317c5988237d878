/** Micro-dollars in one US dollar. All internal amounts are whole micro-dollars. */
export const MICROS_PER_USD = 1_000_000;

/** Decimal dollars, as in API responses. */
export function usd(micros: number): number {
  return micros / MICROS_PER_USD;
}

/** Whole micro-dollars of a decimal amount. */
export function micros(dollars: number): number {
  return Math.round(dollars * MICROS_PER_USD);
}
