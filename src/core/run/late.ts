import { type AttemptState, type ChatState, lastAttempt, lastChat, type StepState } from "../journal/state.ts";
import { jobPhases } from "../lifecycle/index.ts";

/** The request of a step that is under way, with since when it is; null: none is. */
export function requestInFlight(
  step: StepState,
): { readonly request: AttemptState | ChatState; readonly since: number } | null {
  const chat = lastChat(step);
  if (chat?.phase === "sent") return { request: chat, since: chat.sentAt };
  const attempt = lastAttempt(step);
  if (attempt === null) return null;
  // What its provider answers at once is accepted when it is sent.
  const isAccepted = jobPhases.accepted.has(attempt.phase);
  const isSent = attempt.provider !== undefined && jobPhases.submitting.has(attempt.phase);
  if (!isAccepted && !isSent) return null;
  return { request: attempt, since: attempt.submittedAt ?? attempt.lastSentAt ?? attempt.intendedAt ?? 0 };
}

/** Whether the `within` of a step's request is over while it is under way, and nobody waits for another. */
export function isOverdue(step: StepState): boolean {
  const { overdueAt, awaitedSince } = requestInFlight(step)?.request ?? {};
  return overdueAt !== undefined && awaitedSince === undefined;
}

/** Whether the `within` of a request of the step was over at some time: what was begun in its place is so for good. */
export function wasLate({ attempts, chats, superseded }: StepState): boolean {
  return [...attempts, ...chats].some(({ n, overdueAt }) => n > superseded && overdueAt !== undefined);
}
