import type { Clock } from "../clock/clock.ts";
import { type Refusal, refuseForNow } from "../http/refusal.ts";

export interface RateLimit {
  /** Requests allowed per key and window. */
  readonly requests: number;
  readonly windowMs: number;
}

interface Window {
  startedAt: number;
  used: number;
}

/** Maximum number of keys tracked; the oldest windows are evicted first. */
const MAX_KEYS = 10_000;

/** The 429 for a key over its limit, with the four headers. */
export function overLimit({ requests, windowMs }: RateLimit, resetAtMs: number, now: number): Refusal {
  const retryAfter = Math.max(1, Math.ceil((resetAtMs - now) / 1000));
  const message = `Rate limit exceeded: ${requests} requests per ${windowMs / 1000} seconds.`;
  return refuseForNow("RESOURCE_EXHAUSTED", message, retryAfter, {
    "X-RateLimit-Limit": String(requests),
    "X-RateLimit-Remaining": "0",
    "X-RateLimit-Reset": String(Math.ceil(resetAtMs / 1000)),
  });
}

/** Counts requests per key in fixed windows. The returned function throws a 429. */
export function rateLimiter({ requests, windowMs }: RateLimit, clock: Clock): (keyId: string) => void {
  const windows = new Map<string, Window>();

  function windowOf(keyId: string, now: number): Window {
    const known = windows.get(keyId);
    if (known && now < known.startedAt + windowMs) return known;
    windows.delete(keyId);
    if (windows.size >= MAX_KEYS) windows.delete(windows.keys().next().value ?? "");
    const fresh = { startedAt: now, used: 0 };
    windows.set(keyId, fresh);
    return fresh;
  }

  return (keyId) => {
    const now = clock.now();
    const window = windowOf(keyId, now);
    if (window.used >= requests) throw overLimit({ requests, windowMs }, window.startedAt + windowMs, now);
    window.used += 1;
  };
}
