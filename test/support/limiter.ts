/** A service's rate limiter, as pure bookkeeping over instants. */
export interface Limiter {
  /** Null when let through, else the epoch milliseconds at which it makes sense to come back. */
  arrive(now: number): number | null;
}

/** Counts since the last whole window of the service's clock. */
export function alignedLimiter(requests: number, perMs: number): Limiter {
  let window = -1;
  let count = 0;
  return {
    arrive(now) {
      const current = Math.floor(now / perMs);
      if (current !== window) [window, count] = [current, 0];
      return ++count <= requests ? null : (current + 1) * perMs;
    },
  };
}

/** Counts what came within the last `perMs`, whenever that began. */
export function slidingLimiter(requests: number, perMs: number): Limiter {
  let passed: number[] = [];
  return {
    arrive(now) {
      passed = passed.filter((at) => at > now - perMs);
      if (passed.length >= requests) return passed[0]! + perMs;
      passed.push(now);
      return null;
    },
  };
}

/** The 429 headers of a refusal, as the service sends them. */
export function limitHeaders(requests: number, now: number, comeBackAt: number): Record<string, string> {
  return {
    "retry-after": String(Math.ceil((comeBackAt - now) / 1000)),
    "x-ratelimit-limit": String(requests),
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": String(Math.ceil(comeBackAt / 1000)),
  };
}
