import type { StepReport } from "../../index.ts";
import { visible } from "../text/escape.ts";

/** Skipped steps that are named. */
const MOST_NAMES = 6;

/** Why steps did not succeed, each said once; those that were only left out for it, together. */
export function reasonLines(steps: readonly StepReport[]): readonly string[] {
  const own = steps.filter(({ status }) => status === "failed" || status === "partial" || status === "unresolved");
  const left = steps.filter(({ status, reason }) => status === "skipped" && reason !== null);
  return [
    ...own.map(
      ({ path, status, reason }) => `${visible(path)} ${status}${reason === null ? "" : `: ${visible(reason)}`}`,
    ),
    ...skippedLines(left),
  ];
}

function skippedLines(left: readonly StepReport[]): readonly string[] {
  const [first] = left;
  if (first === undefined) return [];
  if (left.length === 1) return [`${visible(first.path)} skipped: ${visible(first.reason ?? "")}`];
  const names = left.slice(0, MOST_NAMES).map(({ path }) => visible(path));
  const more = left.length > MOST_NAMES ? `, and ${left.length - MOST_NAMES} more` : "";
  return [`${left.length} steps skipped for what they use: ${names.join(", ")}${more}`];
}
