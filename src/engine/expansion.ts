import type { Draft } from "../define/draft.ts";
import { formatUsd } from "../money.ts";
import type { ExpandStep, Plan, PlanStep, Problem, Reference } from "../plan/plan.ts";
import type { Quote, StepPrice } from "./quote.ts";

/** Steps that a value led to, with their prices; or everything that is wrong with them. */
export type Expansion =
  | {
      readonly ok: true;
      readonly steps: readonly PlanStep[];
      readonly returns: readonly Reference[];
      readonly groups: Plan["groups"];
      readonly prices: readonly StepPrice[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface Expansions {
  /** Reads the catalog and asks for estimates; spends nothing. */
  expand(
    step: ExpandStep,
    drafted: Draft,
    within: { readonly plan: Plan; readonly maxUnquotedMicros: number | null },
  ): Promise<Expansion>;
}

/** What is wrong with an expansion that could be planned: too many steps, or more money than it may cost. */
export function boundProblems(step: ExpandStep, steps: readonly PlanStep[], quote: Quote | null): readonly Problem[] {
  const problems: Problem[] = [];
  const report = (code: string, message: string) => void problems.push({ code, step: step.path, field: null, message });
  if (steps.length > step.maxSteps)
    report("max-steps", `expands to ${steps.length} steps, more than its maxSteps of ${step.maxSteps}`);
  const most = quote?.totalMicros.max ?? null;
  if (step.maxCostMicros !== null && most !== null && most > step.maxCostMicros) {
    const may = formatUsd(step.maxCostMicros);
    report("over-max-cost", `its steps may cost ${formatUsd(most)} USD, more than its maxCost of ${may} USD`);
  }
  return problems;
}

/** The expansion's own maximum is a budget of what lies within it. */
export function groupsOf(step: ExpandStep, groups: Plan["groups"]): Plan["groups"] {
  if (step.maxCostMicros === null) return groups;
  return { ...groups, [step.path]: { maxCostMicros: step.maxCostMicros } };
}
