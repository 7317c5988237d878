import type { IncomingHttpHeaders } from "node:http";
import { headerNumber, headerText } from "../http/headers.ts";

/** At most `requests` within any `perMs` milliseconds. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** What an answer says about limits. Times are in milliseconds from the moment it came. */
export interface LimitNews {
  readonly refused: boolean;
  /** How long to send nothing, or null when the answer does not say. */
  readonly waitMs: number | null;
  readonly requests: number | null;
  /** Until the window ends. */
  readonly resetMs: number | null;
}

/**
 * Reads the headers of limits. They are only promised on a 429; on other answers they are used where they stand.
 * Retry-After goes before X-RateLimit-Reset, which is an instant of the service's clock.
 */
export function readLimitNews(status: number, headers: IncomingHttpHeaders, serviceNow: number): LimitNews {
  const refused = status === 429;
  const reset = headerNumber(headers, "x-ratelimit-reset");
  const resetMs = reset === null ? null : Math.max(0, reset * 1000 - serviceNow);
  const exhausted = headerNumber(headers, "x-ratelimit-remaining") === 0;
  const limit = headerNumber(headers, "x-ratelimit-limit");
  return {
    refused,
    waitMs: refused ? (retryAfterMs(headers, serviceNow) ?? resetMs) : exhausted ? resetMs : null,
    requests: limit !== null && limit >= 1 ? Math.floor(limit) : null,
    resetMs: resetMs ?? (refused ? retryAfterMs(headers, serviceNow) : null),
  };
}

function retryAfterMs(headers: IncomingHttpHeaders, serviceNow: number): number | null {
  const seconds = headerNumber(headers, "retry-after");
  if (seconds !== null) return Math.max(0, seconds * 1000);
  const at = Date.parse(headerText(headers, "retry-after") ?? "");
  return Number.isNaN(at) ? null : Math.max(0, at - serviceNow);
}

const minuteMs = 60_000;

/**
 * The window behind a refusal. The headers name the limit and the end of the window but not its length, and a window
 * that stands on the clock may have begun long before our first request in it; so all but plain per-second limits are
 * taken for at least a minute. Guessing too long costs time, guessing too short costs refusals.
 */
export function guessWindowMs(spanMs: number, known: number | null): number {
  const guess = spanMs <= 1_000 ? 1_000 : Math.max(minuteMs, Math.ceil(spanMs / 1_000) * 1_000);
  if (known === null) return guess;
  // A refusal although the known window was kept: it must be longer, at least a minute.
  return Math.max(known, guess, known < minuteMs ? minuteMs : 0);
}
