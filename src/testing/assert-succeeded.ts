import { AssertionError } from "node:assert";
import type { RunResult } from "../index.ts";

/**
 * Asserts that the run succeeded, and narrows its outputs to the pipeline's return type. Otherwise, throws
 * AssertionError with the reason for each failed step or for the pause.
 */
export function assertSucceeded<R extends RunResult>(
  run: R,
): asserts run is Extract<R, { readonly status: "succeeded" }> {
  if (run.status === "succeeded") return;
  const steps = run.report.steps.flatMap(({ path, status, reason }) =>
    reason === null || status === "succeeded" || status === "skipped" ? [] : [`- ${path} (${status}): ${reason}`],
  );
  const why = run.pause === null ? "" : ` (${run.pause.reason}): ${run.pause.message}`;
  throw new AssertionError({
    message: [`Run ${run.id} is ${run.status}${why}`, ...steps].join("\n"),
    actual: run.status,
    expected: "succeeded",
  });
}
