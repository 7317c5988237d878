import { expect } from "vitest";

/** Looks again until what follows holds; patient, since other tests may keep the machine busy. */
export function eventually<T>(look: () => T | Promise<T>) {
  return expect.poll(look, { timeout: 40_000, interval: 150 });
}
