export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const units = { ms: 1, s: 1000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;

/** A duration as text: `"90s"`, `"10m"`, `"1.5h"`. */
export type Duration = `${number}${"s" | "m" | "h" | "d"}`;

/** Converts a duration such as `90s`, `10m` or `1h30m` to milliseconds; null if it is malformed. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * units[unit as keyof typeof units];
  }
  return Math.round(total);
}

/** Formats milliseconds for display: `840 ms`, `2.1 s`, `3 min 05 s`, `2 h 10 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

export function formatAgo(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 30 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return new Date(at).toISOString().slice(0, 10);
}

export interface Expected {
  readonly ms: number;
  /** True if the duration is based on the model's past requests, not on a typical value. */
  readonly isLearned: boolean;
}

/** A request that is taking longer than expected, or longer than its time limit (`within`). */
export interface Late {
  readonly since: number;
  /** Expected duration of the request, if the run reported the request as slow; otherwise null. */
  readonly expected: Expected | null;
  /** The time limit (`within`) that the request has exceeded, in milliseconds; null if it has exceeded none. */
  readonly withinMs: number | null;
  readonly jobId: string | null;
}

/**
 * Describes how late a request is: `is taking longer than usual: 9 min 00 s so far, usually 2 min 00 s; job job_1 is
 * still being polled`.
 */
export function lateText({ since, expected, withinMs, jobId }: Late, now: number): string {
  const elapsedMs = now - since;
  const long = expected === null ? `has been running for ${formatDuration(elapsedMs)}` : slowText(expected, elapsedMs);
  const over = withinMs === null ? "" : `; its time limit of ${formatDuration(withinMs)} has passed`;
  return `${long}${over}; ${stillText(jobId)}`;
}

export function slowText({ ms, isLearned }: Expected, elapsedMs: number): string {
  const [than, known] = isLearned ? ["usual", "usually"] : ["expected", "expected"];
  return `is taking longer than ${than}: ${formatDuration(elapsedMs)} so far, ${known} ${formatDuration(ms)}`;
}

export function stillText(jobId: string | null): string {
  return jobId === null ? "no response has arrived yet" : `job ${jobId} is still being polled`;
}
