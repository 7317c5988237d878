import { codeOf, failureOf, type Outcome, statusOf } from "./outcome.ts";

/** What a caller is told of a test POST. Null stands for one that the service's end cut off. */
export function testResult(outcome: Outcome | null) {
  const code = outcome === null ? "UNKNOWN" : codeOf(outcome);
  return {
    ok: code === null,
    response_status: outcome === null ? null : statusOf(outcome),
    error: code === null ? null : `${code}: ${failureOf(code).message}`,
  };
}
