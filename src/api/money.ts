/**
 * Micro-dollars of a decimal amount of dollars (1 USD = 1 000 000), exactly: the decimal digits are shifted instead of
 * multiplied, so 0.29 gives 290000. Digits beyond the sixth are rounded. Returns null for what is no finite amount or
 * does not fit a safe integer.
 */
export function toMicros(amount: number | string): number | null {
  const [digits = "", exponent = "0"] = String(amount).trim().toLowerCase().split("e");
  if (!/^-?\d+(\.\d+)?$/.test(digits) || !/^[+-]?\d+$/.test(exponent)) return null;
  const micros = Math.round(Number(`${digits}e${Number(exponent) + 6}`));
  return Number.isSafeInteger(micros) ? micros + 0 : null;
}

/** The decimal text of micro-dollars, with at least two decimals: 290000 gives "0.29", 1500 gives "0.0015". */
export function formatMicros(micros: number): string {
  const sign = micros < 0 ? "-" : "";
  const digits = String(Math.abs(micros)).padStart(7, "0");
  const decimals = digits.slice(-6).replace(/0{1,4}$/, "");
  return `${sign}${digits.slice(0, -6)}.${decimals}`;
}
