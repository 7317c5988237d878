import { type AttemptState, lastAttempt, lastChat, type RunState } from "../journal/state.ts";

/**
 * Holds that will be bills soon: of jobs and chats under way, and of jobs whose cost is still asked for. A bill may be less
 * than its hold, so that what does not fit now may fit then. `within` is a path prefix; empty for the whole run.
 */
export function inFlightMicros(state: RunState, within: string, notBefore: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const step of Object.values(state.steps)) {
    if (!step.path.startsWith(within)) continue;
    const attempt = lastAttempt(step);
    if (attempt !== null && isInFlight(step.path, attempt, notBefore)) sum += attempt.holdMicros;
    const chat = lastChat(step);
    if (chat?.phase === "sent") sum += chat.holdMicros;
  }
  return sum;
}

/** Whether a charge of the run may be on its way to the wallet. */
export function isSubmitting(state: RunState): boolean {
  return Object.values(state.steps).some((step) => {
    const phase = lastAttempt(step)?.phase;
    return phase === "submitting.sent" || phase === "submitting.unknown" || lastChat(step)?.phase === "sent";
  });
}

function isInFlight(path: string, { n, phase, money }: AttemptState, notBefore: ReadonlyMap<string, number>): boolean {
  if (money !== "held") return false;
  switch (phase) {
    case "submitting.sent":
    case "submitting.unknown":
    case "inQueue":
    case "inProgress":
      return true;
    case "completed":
    case "failed":
      // Given up on: its bill never came.
      return notBefore.get(`settle:${path}#${n}`) !== Number.POSITIVE_INFINITY;
    default:
      return false;
  }
}
