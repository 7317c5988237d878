import type { StepState } from "../journal/state.ts";
import type { Json } from "../plan/plan.ts";
import { asked, type ReusableStep } from "./asked.ts";
import { commandId } from "./command.ts";
import type { Turn } from "./turn.ts";

/**
 * Whether a step waits for an answer to the question if an earlier run made the very same; asks it where that is due.
 * Asked once, before the step's first attempt, and never of a step that somebody wants made again.
 */
export function looksBack(plan: ReusableStep, step: StepState, input: Json, turn: Turn): boolean {
  if (turn.state.planned.reuse !== true || step.again || hasBegun(step)) return false;
  const id = commandId({ type: "reuse", step: plan.path, fingerprint: "" });
  if (turn.isActive(id)) return true;
  if (turn.context.notBefore.get(id) === Number.POSITIVE_INFINITY) return false;
  const { fingerprint, settled } = asked(turn.state, plan, input);
  // What it takes in is known by content only once its copy is here.
  if (settled) turn.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

function hasBegun(step: StepState): boolean {
  return step.chats.length > 0 || step.failures.length > 0 || step.attempts.some(({ key }) => key !== null);
}
