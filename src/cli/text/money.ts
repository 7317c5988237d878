/** Micro-dollars as a person reads them: at least two decimals, no more than it takes: 290000 gives "$0.29". */
export function dollars(micros: number): string {
  const digits = String(Math.abs(micros)).padStart(7, "0");
  const decimals = digits.slice(-6).replace(/0{1,4}$/, "");
  return `${micros < 0 ? "-" : ""}$${digits.slice(0, -6)}.${decimals}`;
}

/** A decimal amount of dollars typed by a person, without rounding; null for what is no amount of at most six decimals. */
export function parseDollars(text: string): number | null {
  const found = /^\$?(\d+)(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!found) return null;
  const micros = Number(found[1]) * 1_000_000 + Number((found[2] ?? "").padEnd(6, "0"));
  return Number.isSafeInteger(micros) ? micros : null;
}
