import { lastAttempt, lastChat, type RunState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";
import { Slots } from "../plan/slots.ts";

/** The slots of a run, with those taken that hold one now: jobs at the service hold theirs across pauses. */
export function slotsOf(state: RunState, steps: readonly PlanStep[]): Slots {
  const slots = new Slots(state.planned.limits);
  for (const step of steps) if (isInFlight(state, step)) slots.take(step);
  return slots;
}

function isInFlight(state: RunState, plan: PlanStep): boolean {
  const step = state.steps[plan.path]!;
  if (traitsOf(plan).needsCode && step.status === "running") return true;
  if (lastChat(step)?.phase === "sent") return true;
  const attempt = lastAttempt(step);
  return attempt !== null && jobPhases.inFlight.has(attempt.phase);
}
