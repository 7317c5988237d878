// Invoice amounts are exact until they are displayed, and are rounded once.

/** 100%, in ten-thousandths of a percent. */
const WHOLE = 1_000_000n;
const MICROS_PER_CENT = 10_000n;
const CENT = WHOLE * MICROS_PER_CENT;

/** Parses `20%` or `12.5` into ten-thousandths of a percent; null if invalid or above 1000%. */
export function parseMarkup(text: string): bigint | null {
  const match = /^(\d{1,4})(?:\.(\d{1,4}))?\s?%?$/.exec(text.trim());
  if (match === null) return null;
  const markup = BigInt(match[1]!) * 10_000n + BigInt((match[2] ?? "").padEnd(4, "0"));
  return markup > 10n * WHOLE ? null : markup;
}

/** Adds the markup to each cost, and rounds to whole cents so that the lines add up to the rounded total. */
export function invoiced(
  costsMicros: readonly number[],
  markup: bigint,
): { readonly lines: readonly bigint[]; readonly total: bigint } {
  const exact = costsMicros.map((micros) => BigInt(micros) * (WHOLE + markup));
  const total = floor(2n * exact.reduce((sum, amount) => sum + amount, 0n) + CENT, 2n * CENT);
  const lines = exact.map((share) => floor(share, CENT));
  const lost = exact.map((exactAmount, at) => ({ at, amount: exactAmount - lines[at]! * CENT }));
  lost.sort((a, b) => (a.amount === b.amount ? a.at - b.at : a.amount < b.amount ? 1 : -1));
  const lacking = Number(total - lines.reduce((sum, line) => sum + line, 0n));
  for (const { at } of lost.slice(0, lacking)) lines[at]! += 1n;
  return { lines, total };
}

export function formatCents(cents: bigint): string {
  const amount = cents < 0n ? -cents : cents;
  return `${cents < 0n ? "-" : ""}${amount / 100n}.${String(amount % 100n).padStart(2, "0")}`;
}

function floor(amount: bigint, by: bigint): bigint {
  const quotient = amount / by;
  return amount % by < 0n ? quotient - 1n : quotient;
}
