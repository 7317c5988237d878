import { lastAttempt, type StepState } from "../journal/state.ts";
import type { Json } from "../plan/plan.ts";
import { type Asked, asked, type ReusableStep } from "./asked.ts";
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
  const { fingerprint, pending } = asked(turn.state, plan, input);
  // What it takes in is known by content only once its copy is here; one that does not come is not waited for.
  if (pending.some((output) => hasFailed(output, turn))) return false;
  if (pending.length === 0) turn.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

/** Whether copying the output was tried in vain. */
function hasFailed({ step, index }: Asked["pending"][number], { state, context }: Turn): boolean {
  const { n: attempt, jobId } = lastAttempt(state.steps[step]!)!;
  return context.notBefore.has(commandId({ type: "download", step, attempt, jobId: jobId!, index }));
}

function hasBegun(step: StepState): boolean {
  return step.chats.length > 0 || step.failures.length > 0 || step.attempts.some(({ key }) => key !== null);
}
