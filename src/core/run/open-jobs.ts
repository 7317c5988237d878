import { type AttemptState, lastAttempt, ownAttempts, type RunState, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { type PlanStep, traitsOf } from "../plan/plan.ts";

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

/** Paid work that may not have ended. It continues even if no process waits for it. */
export interface OpenJob {
  readonly step: string;
  /** The job's id; null until the request is acknowledged. */
  readonly jobId: string | null;
  /** The reserved amount in micro-dollars; 0 once the cost is known. */
  readonly holdMicros: number;
  /** The provider that received the work. If absent, the service received it. */
  readonly provider?: string;
  /** True if nobody knows whether the job exists, so a person must decide. */
  readonly isUnresolved?: true;
}

export function openJobs(state: RunState): readonly OpenJob[] {
  const open: OpenJob[] = [];
  for (const { path: step, attempts } of Object.values(state.steps)) {
    for (const { phase, jobId, money, provider, ...attempt } of attempts) {
      if (!jobPhases.open.has(phase)) continue;
      const holdMicros = money === "held" ? attempt.holdMicros : 0;
      const isUnresolved = phase === "unresolved" && { isUnresolved: true as const };
      open.push({ step, jobId, holdMicros, ...(provider !== undefined && { provider }), ...isUnresolved });
    }
  }
  return open;
}

export function requestInFlight(step: StepState): { readonly request: AttemptState; readonly since: number } | null {
  const attempt = lastAttempt(step);
  if (attempt === null) return null;
  // Providers and chat models answer directly, so a request to them counts as accepted as soon as it is sent.
  const isAccepted = jobPhases.accepted.has(attempt.phase);
  const isSent = (attempt.kind === "chat" || attempt.provider !== undefined) && jobPhases.submitting.has(attempt.phase);
  if (!isAccepted && !isSent) return null;
  return { request: attempt, since: attempt.submittedAt ?? attempt.lastSentAt ?? attempt.intendedAt ?? 0 };
}

export function isOverdue(step: StepState): boolean {
  const { overdueAt, awaitedSince } = requestInFlight(step)?.request ?? {};
  return overdueAt !== undefined && awaitedSince === undefined;
}

export function wasLate(step: StepState): boolean {
  return ownAttempts(step).some(({ overdueAt }) => overdueAt !== undefined);
}
