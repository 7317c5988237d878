import type { AttemptState, RunState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/** Whether something paid for is still at the service although its step ended: a job, an output without a copy, or a bill. */
export function hasUncollectedWork(
  { planned, removedSteps, steps }: RunState,
  { leavesGivenUp = false }: { readonly leavesGivenUp?: boolean | undefined } = {},
): boolean {
  return [...planned.plan.steps, ...removedSteps].some((plan) => {
    const step = steps[plan.path]!;
    return (step.isGivenUp === true && !leavesGivenUp) || step.attempts.some((attempt) => isOwed(plan, attempt));
  });
}

function isOwed(plan: PlanStep, { phase, money, outputs }: AttemptState): boolean {
  if (phase !== "completed" && phase !== "failed") return false;
  const { keeps } = traitsOf(plan);
  return (
    money === "held" || (keeps && outputs.some((output) => output.phase === "available" && output.voiceId === null))
  );
}

/** Work that continues, and bills, at the service or a provider although nobody here watches it. */
export interface OpenJob {
  readonly step: string;
  /** Null while no acknowledgement came, or ever will. */
  readonly jobId: string | null;
  /** Reserved for it, micro-dollars: what it costs at most, as far as the service keeps to its quote. */
  readonly holdMicros: number;
  /** Where it was sent; absent: to the service. */
  readonly provider?: string;
  /** Whether it was made at all is not known, and a person decides. */
  readonly isUnresolved?: true;
}

/** What was sent and has not come to its end, as far as the journal knows. */
export function openJobs(state: RunState): readonly OpenJob[] {
  const open: OpenJob[] = [];
  for (const { path: step, attempts, chats } of Object.values(state.steps)) {
    for (const { phase, jobId, holdMicros, provider } of attempts) {
      if (!jobPhases.open.has(phase)) continue;
      const isUnresolved = phase === "unresolved" && { isUnresolved: true as const };
      open.push({ step, jobId, holdMicros, ...(provider !== undefined && { provider }), ...isUnresolved });
    }
    for (const { phase, jobId, holdMicros } of chats) if (phase === "sent") open.push({ step, jobId, holdMicros });
  }
  return open;
}
