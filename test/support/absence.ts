import { describe } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** What the test needs and is not here, with what would bring it. */
    lacks?: string;
  }
}

/** Something that a machine may lack. */
export interface Absence {
  readonly what: string;
  /** What brings it: a command, mostly. */
  readonly cure: string;
  /** CI cannot bring it either, or is not meant to. */
  readonly isOptional?: true;
}

/**
 * `describe`, for tests that need what may be absent; null says that it is here. In CI an absence fails. Elsewhere its tests are
 * skipped, and the last lines of the run say so.
 */
export function describeNeeding(...needs: readonly (Absence | null)[]): (name: string, body: () => void) => void {
  const absent = needs.filter((one) => one !== null);
  if (absent.length === 0) return describe;
  const lacks = absent.map(({ what, cure }) => `${what}: ${cure}`).join("; ");
  if (process.env.CI !== undefined && absent.some(({ isOptional }) => isOptional !== true))
    throw new Error(`CI lacks ${lacks}`);
  return (name, body) => describe.skip(name, { meta: { lacks } }, body);
}
