import { lastAttempt, type RunState } from "../journal/state.ts";
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
  if (plan.kind === "task") return step.status === "running";
  if (plan.kind === "chat") return step.chats.at(-1)?.phase === "sent";
  switch (lastAttempt(step)?.phase) {
    case "submitting.sent":
    case "submitting.unknown":
    case "inQueue":
    case "inProgress":
      return true;
    default:
      return false;
  }
}
