import {
  type AttemptState,
  type ChatState,
  lastAttempt,
  lastChat,
  type RunState,
  type StepState,
} from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";
import { traitsOf } from "../plan/index.ts";
import type { PlanStep } from "../plan/plan.ts";

/**
 * Returns whether a step that has ended still has paid work on the service: a job, an output without a copy, or a bill.
 */
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

/** Work that continues and costs money while no process waits for it, on the service or at a provider. */
export interface OpenJob {
  readonly step: string;
  /** Null until the request is acknowledged. */
  readonly jobId: string | null;
  /** The reserved amount in micro-dollars. The job costs at most this much if the service keeps to its quote. */
  readonly holdMicros: number;
  /** The provider that received the work; absent for the service. */
  readonly provider?: string;
  /** Set if it is unknown whether the job exists. A person must decide. */
  readonly isUnresolved?: true;
}

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

export function requestInFlight(
  step: StepState,
): { readonly request: AttemptState | ChatState; readonly since: number } | null {
  const chat = lastChat(step);
  if (chat?.phase === "sent") return { request: chat, since: chat.sentAt };
  const attempt = lastAttempt(step);
  if (attempt === null) return null;
  // A provider answers this request directly, so it is accepted as soon as it is sent.
  const isAccepted = jobPhases.accepted.has(attempt.phase);
  const isSent = attempt.provider !== undefined && jobPhases.submitting.has(attempt.phase);
  if (!isAccepted && !isSent) return null;
  return { request: attempt, since: attempt.submittedAt ?? attempt.lastSentAt ?? attempt.intendedAt ?? 0 };
}

/** Returns whether the step's request in flight exceeded its time limit and the run no longer waits for it. */
export function isOverdue(step: StepState): boolean {
  const { overdueAt, awaitedSince } = requestInFlight(step)?.request ?? {};
  return overdueAt !== undefined && awaitedSince === undefined;
}

/** Returns whether a request of the step ever exceeded its time limit. Work that replaced the request is then kept. */
export function wasLate({ attempts, chats, superseded }: StepState): boolean {
  return [...attempts, ...chats].some(({ n, overdueAt }) => n > superseded && overdueAt !== undefined);
}
