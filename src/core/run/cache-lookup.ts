import { lastAttempt, type StepState } from "../journal/state.ts";
import type { Json } from "../plan/plan.ts";
import { commandId } from "./command.ts";
import type { DecisionBuilder } from "./decision-builder.ts";
import { type CacheableStep, type RequestIdentity, requestIdentity } from "./request-identity.ts";

/**
 * Whether a step waits for the cache lookup of an identical request; issues the lookup where it is due.
 * Issued once, before the step's first attempt, and never for a step whose rerun was requested.
 */
export function awaitCacheLookup(plan: CacheableStep, step: StepState, input: Json, builder: DecisionBuilder): boolean {
  if (builder.state.planned.reuse !== true || step.rerunRequested || hasBegun(step)) return false;
  const id = commandId({ type: "reuse", step: plan.path, fingerprint: "" });
  if (builder.isActive(id)) return true;
  if (builder.context.notBefore.get(id) === Number.POSITIVE_INFINITY) return false;
  const { fingerprint, pending } = requestIdentity(builder.state, plan, input);
  // The content of an input is known only once it is downloaded; a failed download is not waited for.
  if (pending.some((output) => hasFailed(output, builder))) return false;
  if (pending.length === 0) builder.issue({ type: "reuse", step: plan.path, fingerprint });
  return true;
}

/** Whether the download of the output failed. */
function hasFailed({ step, index }: RequestIdentity["pending"][number], { state, context }: DecisionBuilder): boolean {
  const { n: attempt, jobId } = lastAttempt(state.steps[step]!)!;
  return context.notBefore.has(commandId({ type: "download", step, attempt, jobId: jobId!, index }));
}

function hasBegun(step: StepState): boolean {
  return step.chats.length > 0 || step.failures.length > 0 || step.attempts.some(({ key }) => key !== null);
}
