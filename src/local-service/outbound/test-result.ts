import { codeOf, failureOf, type Outcome, statusOf } from "./outcome.ts";

/** The caller's result of a test POST. Null means that the service closed first. */
export function testResult(outcome: Outcome | null) {
  const code = outcome === null ? "UNKNOWN" : codeOf(outcome);
  return {
    ok: code === null,
    response_status: outcome === null ? null : statusOf(outcome),
    error: code === null ? null : `${code}: ${failureOf(code).message}`,
  };
}
