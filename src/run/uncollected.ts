import type { AttemptState, RunState } from "../journal/state.ts";
import type { PlanStep } from "../plan/plan.ts";

/** Whether something paid for is still at the service although its job ended: an output without a copy, or a bill. */
export function hasUncollectedWork({ planned, removedSteps, steps }: RunState): boolean {
  return [...planned.plan.steps, ...removedSteps].some((plan) =>
    steps[plan.path]!.attempts.some((attempt) => isOwed(plan, attempt)),
  );
}

function isOwed(plan: PlanStep, { phase, money, outputs }: AttemptState): boolean {
  if (phase !== "completed" && phase !== "failed") return false;
  const isKept = plan.kind !== "job" || plan.policy.keep;
  return (
    money === "held" || (isKept && outputs.some((output) => output.phase === "available" && output.voiceId === null))
  );
}
