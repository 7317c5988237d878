import type { AttemptState, RunState } from "../journal/state.ts";
import type { PlanStep } from "../plan/plan.ts";
import { usedBy } from "./pruning.ts";
import type { StepNode } from "./step-node.ts";

/** Steps whose media its model may refuse, by the last price. A renamed one is none of its needs any more. */
export function conditionsOf({ needs }: PlanStep, attempt: AttemptState | null): readonly string[] {
  const paths = attempt?.phase === "priced" ? (attempt.quote?.conditionalOn ?? NONE) : NONE;
  return paths.length === 0 ? NONE : paths.filter((path) => needs.includes(path));
}

const NONE: readonly string[] = [];

/** True while a model might refuse an input that does not exist yet: that input is made and checked first. */
export function isHeldBack(node: StepNode, nodes: ReadonlyMap<string, StepNode>, state: RunState): boolean {
  const found = new Set([node]);
  for (const { path, readers } of found) {
    for (const reader of readers) {
      if (!reader.isNeeded || !usedBy(state, reader.plan).includes(path)) continue;
      if (reader.conditions.includes(path)) return false;
      found.add(reader);
    }
  }
  return [...found].every((root) => !root.isRoot || hasConditions(root, nodes, state));
}

/** Its own, or those of what it needs. */
function hasConditions(node: StepNode, nodes: ReadonlyMap<string, StepNode>, state: RunState): boolean {
  const found = new Set([node]);
  for (const { conditions, plan } of found) {
    if (conditions.length > 0) return true;
    for (const path of usedBy(state, plan)) {
      const used = nodes.get(path);
      if (used !== undefined && !used.isFinal) found.add(used);
    }
  }
  return false;
}
