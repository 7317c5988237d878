import { expect } from "vitest";

/** Repeats a query until the following expectation holds. The timeout is long, because other tests may use the machine. */
export function eventually<T>(look: () => T | Promise<T>) {
  return expect.poll(look, { timeout: 40_000, interval: 150 });
}
