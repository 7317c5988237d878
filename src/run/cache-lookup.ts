import { lastAttempt, type StepState } from "../journal/state.ts";
import type { Json } from "../plan/plan.ts";
import { commandId } from "./command.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { type CacheableStep, type RequestIdentity, requestIdentity } from "./request-identity.ts";

/**
 * Whether a step waits for an answer to the question if an earlier run made the very same; asks it where that is due.
 * Asked once, before the step's first attempt, and never of a step that somebody wants made again.
 */
export function awaitCacheLookup(plan: CacheableStep, step: StepState, input: Json, builder: DecisionBuilder): boolean {
  if (builder.state.planned.reuse !== true || step.rerunRequested || hasBegun(step)) return false;
  const id = commandId({ type: "reuse", step: plan.path, fingerprint: "" });
  if (builder.isActive(id)) return true;
  if (builder.context.notBefore.get(id) === Number.POSITIVE_INFINITY) return false;
  const { fingerprint, pending } = requestIdentity(builder.state, plan, input);
  // What it takes in is known by content only once its copy is here; one that does not come is not waited for.
  if (pending.some((output) => hasFailed(output, builder))) return false;
  if (pending.length === 0) builder.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

/** Whether copying the output was tried in vain. */
function hasFailed({ step, index }: RequestIdentity["pending"][number], { state, context }: DecisionBuilder): boolean {
  const { n: attempt, jobId } = lastAttempt(state.steps[step]!)!;
  return context.notBefore.has(commandId({ type: "download", step, attempt, jobId: jobId!, index }));
}

function hasBegun(step: StepState): boolean {
  return step.chats.length > 0 || step.failures.length > 0 || step.attempts.some(({ key }) => key !== null);
}
