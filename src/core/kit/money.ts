/** Micro-dollars in one US dollar; every amount inside is a whole number of them. */
export const MICROS_PER_USD = 1_000_000;

/** A decimal string of dollars as micro-dollars, or null when it is no amount: `"5"`, `"0.25"`, at most six decimals. */
export function parseUsd(text: string): number | null {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (match === null) return null;
  return Number(match[1]) * MICROS_PER_USD + Number((match[2] ?? "").padEnd(6, "0"));
}

/**
 * An amount as a person reads it, of micro-dollars or of a decimal string: in cents, and below one cent its two leading digits:
 * `$0.29`, `$0.0015`. `round`: `Math.ceil` of what is said to be the most.
 */
export function dollars(amount: number | string, round: (number: number) => number = Math.round): string {
  const micros = typeof amount === "number" ? amount : parseUsd(amount);
  if (micros === null) return `$${amount}`;
  if (micros < 0) return `-${dollars(-micros, round)}`;
  const digits = String(Math.ceil(micros)).length;
  const unit = micros < CENT_MICROS ? 10 ** Math.max(0, digits - 2) : CENT_MICROS;
  return `$${formatUsd(round(micros / unit) * unit)}`;
}

const CENT_MICROS = 10_000;

/** An amount to be typed, in whole cents: no less than these micro-dollars. */
export function wholeCents(micros: number): string {
  return formatUsd(Math.ceil(micros / CENT_MICROS) * CENT_MICROS);
}

/** Micro-dollars as a decimal string with at least two decimals and no more than needed: `0.05`, `1.2345`. */
export function formatUsd(micros: number): string {
  const sign = micros < 0 ? "-" : "";
  const amount = Math.abs(micros);
  const fraction = String(amount % MICROS_PER_USD)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${sign}${Math.floor(amount / MICROS_PER_USD)}.${fraction}`;
}
