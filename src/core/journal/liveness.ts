import { isHolderGone } from "./host.ts";
import { isRunFinal } from "./state.ts";
import type { RunRow } from "./store.ts";

/** A newly created run counts as interrupted if no process takes its lease within this time. */
const BEGINS_WITHIN_MS = 5_000;

export function isInterrupted(row: RunRow, now: number): boolean {
  return (row.status === "running" || row.status === "planned") && !isDriven(row, now);
}

/** If a run is overdue by more than this, the engine is assumed to have no worker. */
const UNWORKED_AFTER_MS = 60_000;

/** True if a process drives the run or is expected to start doing so. */
export function isDriven({ status, lease, updatedAt, wakeAt, resumeAt }: RunRow, now: number): boolean {
  if (lease !== null) return now <= lease.expiresAt && !isHolderGone(lease.holder, lease.expiresAt - now);
  // A finished or paused run is driven only for late work, so nobody waits for it. A message makes it due again.
  const isAtRest = isRunFinal(status) || (status === "paused" && resumeAt === null);
  if (wakeAt !== null) return (!isAtRest || wakeAt <= now) && now <= wakeAt + UNWORKED_AFTER_MS;
  return status === "planned" && now - updatedAt <= BEGINS_WITHIN_MS;
}

export function statusNow(row: RunRow, now: number): RunRow {
  return isInterrupted(row, now) ? { ...row, status: "interrupted" } : row;
}
