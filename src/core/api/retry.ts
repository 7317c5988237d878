import { LONGEST_ASKED_MS } from "./http/headers.ts";

/** Limits on the retries of one call. */
export interface RetryPolicy {
  /** Number of failed attempts after which the call fails. Responses with 429 do not count. Default 6. */
  readonly maxAttempts: number;
  /** First backoff delay in milliseconds; doubled each time. Default 500. */
  readonly baseDelayMs: number;
  /** Maximum backoff delay in milliseconds, unless the service asks for a longer one. Default 30 000. */
  readonly maxDelayMs: number;
  /** Milliseconds after which no further attempt is made, including waits after a 429. Default 900 000. */
  readonly maxElapsedMs: number;
}

/** Overrides parts of the retry policy; omitted fields keep their defaults. */
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
 * Whether a request may be repeated. `always`: repeating it is harmless. `unless-done`: only if the first request
 * certainly had no effect. `never`: not at all.
 */
export type Repeat = "always" | "unless-done" | "never";

/** The wait before a retry: Retry-After plus up to a second, or else a random part of the doubled delay. */
export function backoffMs(policy: RetryPolicy, failures: number, retryAfterMs: number | null, chance: number): number {
  const stepMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(failures - 1, 30));
  if (retryAfterMs === null) return chance * stepMs;
  return Math.min(retryAfterMs, LONGEST_ASKED_MS) + chance * Math.min(stepMs, 1_000);
}

const FIRST_OUTAGE_MS = 5_000;
const LONGEST_OUTAGE_MS = 60_000;

/** Milliseconds that a run waits before it repeats a failed call. `failures`: number of consecutive failed calls. */
export function outageDelayMs(failures: number): number {
  return Math.min(LONGEST_OUTAGE_MS, FIRST_OUTAGE_MS * 2 ** (failures - 1));
}
