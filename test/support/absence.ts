import { describe, type TestFunction, test } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The missing requirement of the test, with the command that installs it. */
    lacks?: string;
  }
}

/** A requirement that a machine may lack. */
export interface Absence {
  readonly what: string;
  /** How to install it, usually a command. */
  readonly cure: string;
  /** Set if no command installs it. */
  readonly isOptional?: true;
}

/** True if everything that a command can install is installed here, so that its absence is a failure. */
export const isComplete = process.env.SHOWRUNNER_TEST_COMPLETE !== undefined;

/**
 * Like `describe`, for tests with requirements that may be absent; null means that a requirement is present. Tests with an absent
 * requirement are skipped and listed at the end of the run; on a complete machine they fail.
 */
export function describeNeeding(...needs: readonly (Absence | null)[]): (name: string, body: () => void) => void {
  const meta = absentOf(needs);
  return meta === null ? describe : (name, body) => describe.skip(name, { meta }, body);
}

/** Like {@link describeNeeding}, for a single test. */
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
