import type { Pipeline } from "../define/index.ts";
import type { RunState } from "../journal/state.ts";
import type { ExpandStep } from "../plan/plan.ts";
import { readiness } from "../run/readiness.ts";
import { functionsFor } from "./functions.ts";
import type { Planner } from "./planner.ts";

/** Expansions whose function failed and no longer does: with the same value it now leads to steps. Spends nothing. */
export async function fixedExpansions(
  state: RunState,
  pipeline: Pipeline,
  planner: Planner,
): Promise<readonly string[]> {
  const failed = state.planned.plan.steps.filter((step): step is ExpandStep => {
    const { status, expanded } = state.steps[step.path]!;
    return step.kind === "expand" && status === "failed" && expanded === null;
  });
  if (failed.length === 0) return [];
  const functions = functionsFor(state, { pipeline });
  const { plan, profile } = state.planned;
  const fixed: string[] = [];
  for (const step of failed) {
    const found = functions.find(state, step.path);
    const ready = readiness(state, step, step.on);
    if (!("code" in found) || found.code.kind !== "expand" || ready.ready !== "yes") continue;
    const { maxUnquotedMicros } = state;
    const grown = await planner.expand(step, found.code.expand(ready.input), { plan, profile, maxUnquotedMicros });
    if (grown.ok) fixed.push(step.path);
  }
  return fixed;
}
