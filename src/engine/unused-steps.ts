import type { Plan } from "../plan/plan.ts";
import { returnedReferences } from "../run/resolve.ts";

/** Something about a plan that does not stand in its way and that somebody should look at. */
export interface PlanWarning {
  readonly code: "unused";
  readonly step: string;
  readonly message: string;
}

/** Paid steps whose results nothing uses and nothing returns: they run, and cost, as written. */
export function unusedSteps({ steps, returns }: Plan): readonly PlanWarning[] {
  const used = new Set([
    ...steps.flatMap(({ needs }) => needs),
    ...returnedReferences(returns).map(({ ref }) => ref.step),
  ]);
  // What an expansion stands for is its own affair.
  const inner = steps.filter(({ kind }) => kind === "expand").map(({ path }) => `${path}/`);
  return steps.flatMap((step): readonly PlanWarning[] => {
    if ((step.kind !== "job" && step.kind !== "chat") || used.has(step.path)) return [];
    if (inner.some((prefix) => step.path.startsWith(prefix))) return [];
    const message = "is paid for, and nothing uses or returns it; return it, use it, or leave it out";
    return [{ code: "unused", step: step.path, message }];
  });
}
