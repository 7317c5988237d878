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

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  maxElapsedMs: 900_000,
};

/**
 * What may be repeated. `always`: asking twice does no harm. `unless-done`: only when the first send certainly did
 * nothing. `never`: not at all.
 */
export type Repeat = "always" | "unless-done" | "never";

/** Full jitter: anywhere between nothing and the doubled step, on top of the service's Retry-After. */
export function backoffMs(policy: RetryPolicy, failures: number, retryAfterMs: number | null, chance: number): number {
  const stepMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(failures - 1, 30));
  if (retryAfterMs === null) return chance * stepMs;
  return retryAfterMs + chance * Math.min(stepMs, 1_000);
}
