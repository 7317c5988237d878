import { hash, timingSafeEqual } from "node:crypto";

/** Takes as long for a wrong guess as for a right one: digests of equal length are compared. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", given)), Buffer.from(hash("sha256", expected)));
}
