/** A service's rate limiter, which only counts requests and uses no real time. */
export interface Limiter {
  /** Returns null if the request passes, otherwise the time in epoch milliseconds at which to try again. */
  arrive(now: number): number | null;
}

/** Counts requests in fixed windows of the service's clock. */
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

/** Counts the requests of the last `perMs` milliseconds. */
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

/** The headers that the service sends with status 429. */
export function limitHeaders(requests: number, now: number, comeBackAt: number): Record<string, string> {
  return {
    "retry-after": String(Math.ceil((comeBackAt - now) / 1000)),
    "x-ratelimit-limit": String(requests),
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": String(Math.ceil(comeBackAt / 1000)),
  };
}
