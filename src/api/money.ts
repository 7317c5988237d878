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
