import { isHolderGone } from "../journal/host.ts";
import type { RunRow } from "../journal/store.ts";

/** A run that was just written down has no lease yet; its process takes one within this time, milliseconds. */
const BEGINS_WITHIN_MS = 5_000;

/**
 * Whether the journal has the run under way although no process drives it: its process was killed, or gave up. Derived
 * from the lease, never stored; `now` in epoch milliseconds.
 */
export function isInterrupted(row: RunRow, now: number): boolean {
  return (row.status === "running" || row.status === "planned") && !isDriven(row, now);
}

/** Whether a process drives the run, or will at once. */
export function isDriven({ status, lease, updatedAt }: RunRow, now: number): boolean {
  if (lease !== null) return now <= lease.expiresAt && !isHolderGone(lease.holder);
  return status === "planned" && now - updatedAt <= BEGINS_WITHIN_MS;
}

/** The row with what it is now: `interrupted` where it says that it is under way and nobody drives it. */
export function statusNow(row: RunRow, now: number): RunRow {
  return isInterrupted(row, now) ? { ...row, status: "interrupted" } : row;
}
