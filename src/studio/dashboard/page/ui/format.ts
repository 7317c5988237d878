import { dollars } from "../../../../core/kit/money.ts";

/** With commas between thousands. */
export function usd(micros: number | null): string {
  return micros === null ? "–" : dollars(micros).replace(/\B(?=(\d{3})+\.)/g, ",");
}

/** A price that may be a range, or open-ended because of these steps. */
export function sumText({ min, max }: { readonly min: number; readonly max: number | null }, open: readonly string[]) {
  if (max === null) return `from ${usd(min)}, open-ended: ${open.join(", ")}`;
  return min === max ? usd(max) : `${usd(min)} to ${usd(max)}`;
}

/** How long ago, roughly. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 30 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return new Date(at).toISOString().slice(0, 10);
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
