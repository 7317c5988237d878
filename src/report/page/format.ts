import { dollars } from "../../money.ts";

export function usd(micros: number): string {
  return dollars(micros).replace("-", "−");
}

export function usdOr(micros: number | null, otherwise = "–"): string {
  return micros === null ? otherwise : usd(micros);
}

/** The difference of an amount from the one expected: `+$0.02`, `−$0.02`, `as quoted`. */
export function difference(actual: number | null, expected: number | null): string {
  if (actual === null || expected === null) return "–";
  if (actual === expected) return "as quoted";
  return actual > expected ? `+${usd(actual - expected)}` : usd(actual - expected);
}

export function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** `2026-11-21 07:33:05 UTC`. */
export function instant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Of a list: `a`, `a and b`, `a, b and 3 more`. */
export function listed(names: readonly string[], most = 4): string {
  if (names.length > most) return `${names.slice(0, most - 1).join(", ")} and ${names.length - most + 1} more`;
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Null when no amount is known. */
export function sumKnown(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0);
}
