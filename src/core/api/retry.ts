// The waits after a 503, a 429, or no answer at all: between the sends of one call, and between the calls of a run.
import { LONGEST_ASKED_MS } from "./http/headers.ts";

/** Bounds of the retries of one call. */
export interface RetryPolicy {
  /** Sends of one call that may fail before it gives up; answers 429 do not count. Default 6. */
  readonly maxAttempts: number;
  /** First backoff step in milliseconds, doubled each time. Default 500. */
  readonly baseDelayMs: number;
  /** Longest backoff in milliseconds, unless the service asks for longer. Default 30 000. */
  readonly maxDelayMs: number;
  /** Time in milliseconds after which a call starts no further send, waits for 429 included. Default 900 000. */
  readonly maxElapsedMs: number;
}

export type RetryOptions = { readonly [K in keyof RetryPolicy]?: RetryPolicy[K] | undefined };

const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxElapsedMs: 900_000,
};

export function retryPolicy(given: RetryOptions = {}): RetryPolicy {
  return {
    maxAttempts: given.maxAttempts ?? defaultRetryPolicy.maxAttempts,
    baseDelayMs: given.baseDelayMs ?? defaultRetryPolicy.baseDelayMs,
    maxDelayMs: given.maxDelayMs ?? defaultRetryPolicy.maxDelayMs,
    maxElapsedMs: given.maxElapsedMs ?? defaultRetryPolicy.maxElapsedMs,
  };
}

/**
 * What may be repeated. `always`: asking twice does no harm. `unless-done`: only when the first send certainly did
 * nothing. `never`: not at all.
 */
export type Repeat = "always" | "unless-done" | "never";

/** Full jitter: anywhere between nothing and the doubled step, on top of the service's Retry-After within its limit. */
export function backoffMs(policy: RetryPolicy, failures: number, retryAfterMs: number | null, chance: number): number {
  const stepMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(failures - 1, 30));
  if (retryAfterMs === null) return chance * stepMs;
  return Math.min(retryAfterMs, LONGEST_ASKED_MS) + chance * Math.min(stepMs, 1_000);
}

const FIRST_OUTAGE_MS = 5_000;
const LONGEST_OUTAGE_MS = 60_000;

/** Milliseconds before a run makes a call again that gave up, after so many calls in a row that did. */
export function outageDelayMs(failures: number): number {
  return Math.min(LONGEST_OUTAGE_MS, FIRST_OUTAGE_MS * 2 ** (failures - 1));
}
