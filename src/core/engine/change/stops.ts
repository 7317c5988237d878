import type { InboxEntry } from "../../journal/store.ts";

/** Whether the inbox of a paused run holds a decision with no stop after it. */
export function isAskedToGoOn(inbox: readonly InboxEntry[]): boolean {
  return lastDecision(inbox) > (inbox.findLast(({ message }) => message.type === "stop")?.id ?? 0);
}

/**
 * Ids of the stops that a later message supersedes: for a person who resumes, all that were sent before; where nobody asked
 * just now, those that were sent before the newest decision.
 */
export function outdatedStops(inbox: readonly InboxEntry[], unattended: boolean): readonly number[] {
  const until = unattended ? lastDecision(inbox) : Number.POSITIVE_INFINITY;
  return inbox.flatMap(({ id, message }) => (message.type === "stop" && id < until ? [id] : []));
}

function lastDecision(inbox: readonly InboxEntry[]): number {
  return (
    inbox.findLast(({ message: { type } }) => type === "approve" || type === "reject" || type === "adopt")?.id ?? 0
  );
}
