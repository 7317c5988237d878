import { type Clock, sleep } from "./clock.ts";
import { ApiError } from "./errors.ts";
import type { Logger } from "./redactor.ts";

/** Limits on the retries of one call. */
export interface RetryPolicy {
  /** Maximum number of failed attempts, not counting 429 responses. Default: 6. */
  readonly maxAttempts: number;
  /** First delay between attempts, in milliseconds, before jitter. It doubles after each failure. Default: 500. */
  readonly baseDelayMs: number;
  /** Maximum delay in milliseconds, unless the service asks for a longer one. Default: 30,000. */
  readonly maxDelayMs: number;
  /** Time in milliseconds after which a call is no longer retried. Default: 900,000. */
  readonly maxElapsedMs: number;
}

/** Overrides parts of the retry policy; omitted fields keep their defaults. */
export type RetryOptions = { readonly [K in keyof RetryPolicy]?: RetryPolicy[K] | undefined };

export function retryPolicy(given: RetryOptions = {}): RetryPolicy {
  const { maxAttempts = 6, baseDelayMs = 500, maxDelayMs = 30_000, maxElapsedMs = 900_000 } = given;
  return { maxAttempts, baseDelayMs, maxDelayMs, maxElapsedMs };
}

/** Whether a failed request may be repeated. `unless-done` means only if it is known to have had no effect. */
export type Repeat = "always" | "unless-done" | "never";

export type Attempt<T> =
  | { readonly value: T }
  | { readonly error: Error; readonly mayRepeat: boolean; readonly note?: Readonly<Record<string, unknown>> };

interface Sending {
  readonly clock: Clock;
  readonly retry: RetryPolicy;
  readonly random: () => number;
  readonly logger: Logger;
}

interface Limits {
  readonly signal?: AbortSignal | undefined;
  readonly waitSignal?: AbortSignal | undefined;
  /** Time, in epoch milliseconds, after which a failed attempt is not repeated. */
  readonly sendBefore?: number | undefined;
}

export async function withRetries<T>(
  { clock, retry, random, logger }: Sending,
  { waitSignal, signal = waitSignal, sendBefore = Number.POSITIVE_INFINITY }: Limits,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  const startedAt = clock.now();
  for (let failures = 1; ; ) {
    const result = await attempt();
    if ("value" in result) return result.value;
    const { error } = result;
    const now = clock.now();
    const outOfTime = now - startedAt >= retry.maxElapsedMs || now >= sendBefore;
    const refusal = error instanceof ApiError ? error : null;
    const isAskedTooLong = (refusal?.retryAfterMs ?? 0) > LONGEST_ASKED_MS;
    if (!result.mayRepeat || outOfTime || isAskedTooLong || failures >= retry.maxAttempts) throw error;
    // The pacer already delays the next attempt.
    if (refusal?.status === 429) continue;
    const waitMs = backoffMs(retry, failures++, refusal?.retryAfterMs ?? null, random());
    logger.debug({ ...result.note, error: error.message, waitMs }, "the request failed and will be sent again");
    await sleep(clock, waitMs, signal);
  }
}

/** Longest delay that the service may ask for. If it asks for more, the call fails. */
export const LONGEST_ASKED_MS = 60_000;

/** Returns the delay before the next attempt. The service's Retry-After takes precedence over exponential backoff. */
export function backoffMs(policy: RetryPolicy, failures: number, retryAfterMs: number | null, chance: number): number {
  const stepMs = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.min(failures - 1, 30));
  if (retryAfterMs === null) return chance * stepMs;
  return Math.min(retryAfterMs, LONGEST_ASKED_MS) + chance * Math.min(stepMs, 1_000);
}
