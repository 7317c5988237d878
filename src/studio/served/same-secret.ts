import { hash, timingSafeEqual } from "node:crypto";

/** Compares secrets in constant time, by digests of equal length. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", given)), Buffer.from(hash("sha256", expected)));
}
