import { describe, type TestFunction, test } from "vitest";

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
  /** No command brings it. */
  readonly isOptional?: true;
}

/** Whatever a command brings was installed here, so that its absence is a failure. */
export const isComplete = process.env.SHOWRUNNER_TEST_COMPLETE !== undefined;

/**
 * `describe`, for tests that need what may be absent; null says that it is here. Tests of what is absent are skipped, and the last
 * lines of the run list them; where everything was installed, an absence fails.
 */
export function describeNeeding(...needs: readonly (Absence | null)[]): (name: string, body: () => void) => void {
  const meta = absentOf(needs);
  return meta === null ? describe : (name, body) => describe.skip(name, { meta }, body);
}

/** The same for a single test. */
export function testNeeding(
  ...needs: readonly (Absence | null)[]
): (name: string, body: TestFunction, timeoutMs?: number) => void {
  const meta = absentOf(needs);
  return meta === null ? test : (name, body) => test.skip(name, { meta }, body);
}

const system = (what: string): Absence => ({ what, cure: `run the tests on ${what}`, isOptional: true });
export const lacksLinux = process.platform === "linux" ? null : system("Linux");
export const lacksUnix = process.platform === "win32" ? system("a Unix") : null;

function absentOf(needs: readonly (Absence | null)[]): { readonly lacks: string } | null {
  const absent = needs.filter((one) => one !== null);
  if (absent.length === 0) return null;
  const lacks = absent.map(({ what, cure }) => `${what}: ${cure}`).join("; ");
  if (isComplete && absent.some(({ isOptional }) => isOptional !== true))
    throw new Error(`what should be installed is not here: ${lacks}`);
  return { lacks };
}
