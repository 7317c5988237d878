import type { IncomingHttpHeaders } from "node:http";

export function headerText(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}

export function headerNumber(headers: IncomingHttpHeaders, name: string): number | null {
  const text = headerText(headers, name);
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** If the service asks for a longer delay, the call fails. */
export const LONGEST_ASKED_MS = 60_000;

export function retryAfterHeaderMs(headers: IncomingHttpHeaders, now: number): number | null {
  const seconds = headerNumber(headers, "retry-after");
  if (seconds !== null) return Math.max(0, seconds * 1000);
  const at = Date.parse(headerText(headers, "retry-after") ?? "");
  if (Number.isNaN(at)) return null;
  const sentAt = Date.parse(headerText(headers, "date") ?? "");
  return Math.max(0, at - (Number.isNaN(sentAt) ? now : sentAt));
}
