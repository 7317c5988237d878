export { formatAgo as ago } from "../../../../core/kit/duration.ts";

import { dollars } from "../../../../core/kit/money.ts";

export function usd(micros: number | null): string {
  return micros === null ? "–" : dollars(micros).replace(/\B(?=(\d{3})+\.)/g, ",");
}

export function sumText({ min, max }: { readonly min: number; readonly max: number | null }, open: readonly string[]) {
  if (max === null) return `from ${usd(min)}; no maximum for ${open.join(", ")}`;
  return min === max ? usd(max) : `${usd(min)} to ${usd(max)}`;
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour12: false });
}

export function dateTime(at: number): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat("en-US").format(number)} ${number === 1 ? one : many}`;
}
