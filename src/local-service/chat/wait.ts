import type { Clock } from "../clock/clock.ts";

/** Resolves when the service's clock reaches the instant; at once when it has. */
export function until(clock: Clock, dueMs: number): Promise<void> {
  if (dueMs <= clock.now()) return Promise.resolve();
  return new Promise((resolve) => void clock.at(dueMs, resolve));
}
