import { JournalRecordError } from "./errors.ts";
import type { LedgerChange } from "./events/spec.ts";
import { EVENT_VERSION, type RunEvent, type StoredEvent, specOf } from "./events.ts";
import type { Commit, Lease, LeaseHolder } from "./store.ts";

export function movedTo(events: readonly RunEvent[]): string | null {
  const moved = events.findLast(({ type }) => type === "run.account.moved");
  return moved?.type === "run.account.moved" ? accountOf(moved) : null;
}

export function accountOf(run: { readonly baseUrl: string; readonly keyId: string }): string {
  return `${run.keyId}@${run.baseUrl}`;
}

export function leaseAcquired(
  epoch: number,
  { host, pid, instance, program }: LeaseHolder,
  { parked = false }: { readonly parked?: boolean } = {},
): RunEvent {
  const holder = `${host}:${pid}:${instance}`;
  return { type: "lease.acquired", epoch, holder, program, ...(parked && { parked: true as const }) };
}

export function leaseEvent(taken: {
  readonly lease: Pick<Lease, "runId" | "epoch">;
  readonly holder: LeaseHolder;
  readonly seq: number;
  readonly at: number;
  readonly parked: boolean;
}): StoredEvent {
  const { lease, holder, seq, at, parked } = taken;
  return { runId: lease.runId, seq, at, version: EVENT_VERSION, event: leaseAcquired(lease.epoch, holder, { parked }) };
}

export function mediaOf(event: RunEvent): readonly string[] {
  return specOf(event).media?.(event) ?? [];
}

export function ledgerChanges(events: readonly RunEvent[]): readonly LedgerChange[] {
  return events.map((event) => specOf(event).ledger?.(event) ?? null).filter((change) => change !== null);
}

export function heldElsewhereBy(changes: readonly LedgerChange[]): number {
  return heldBy(changes.filter((change) => change.type === "hold" && change.isElsewhere === true));
}

export function heldBy(changes: readonly LedgerChange[]): number {
  return changes.reduce((sum, change) => sum + (change.type === "hold" ? change.amountMicros : 0), 0);
}

/**
 * Length of the slots in which spending is counted: a quarter of an hour. In every time zone, midnight is the start of
 * a slot.
 */
const SLOT_MS = 900_000;

export function slotOf(at: number): number {
  return Math.floor(at / SLOT_MS);
}

export interface LedgerEntry {
  readonly heldMicros: number;
  readonly settledMicros: number;
  readonly slot: number | null;
  /** The account's `mark` (see `AccountTotals`) when this charge became known; null until then. */
  readonly charged: number | null;
}

export const emptyEntry: LedgerEntry = { heldMicros: 0, settledMicros: 0, slot: null, charged: null };

export interface LedgerMoment {
  readonly at: number;
  readonly mark: number;
}

/**
 * How a commit changes a field: `kept` leaves it unchanged, `cleared` sets it to null, `marked` sets it to the commit's
 * value, and `markedIfUnset` does so only if it is null.
 */
export type MarkAfter = "kept" | "cleared" | "marked" | "markedIfUnset";

export interface EntryChange {
  readonly held: number | null;
  readonly settled: number | null;
  readonly slot: MarkAfter;
  readonly charged: MarkAfter;
}

export function entryChange(change: LedgerChange): EntryChange {
  switch (change.type) {
    case "hold": {
      // The wallet does not pay a provider's charge, so the charge is marked as if every later balance included it.
      const charged = change.isElsewhere === true ? "marked" : "cleared";
      return { held: change.amountMicros, settled: null, slot: "marked", charged };
    }
    case "raise":
      return { held: change.amountMicros, settled: null, slot: "kept", charged: "kept" };
    case "charged":
      return { held: null, settled: null, slot: "kept", charged: "marked" };
    case "settle":
      return { held: 0, settled: change.costMicros, slot: "markedIfUnset", charged: "markedIfUnset" };
    case "release":
      return { held: 0, settled: null, slot: "kept", charged: "kept" };
    default:
      return change satisfies never;
  }
}

export function mergeChanges(first: EntryChange, then: EntryChange): EntryChange {
  return {
    held: then.held ?? first.held,
    settled: then.settled ?? first.settled,
    slot: mergeMarks(first.slot, then.slot),
    charged: mergeMarks(first.charged, then.charged),
  };
}

function mergeMarks(first: MarkAfter, then: MarkAfter): MarkAfter {
  if (then === "kept") return first;
  if (then !== "markedIfUnset" || first === "kept") return then;
  return first === "markedIfUnset" ? "markedIfUnset" : "marked";
}

export function changeLedger(entry: LedgerEntry, change: EntryChange, { at, mark }: LedgerMoment): LedgerEntry {
  return {
    heldMicros: change.held ?? entry.heldMicros,
    settledMicros: change.settled ?? entry.settledMicros,
    slot: markAfter(entry.slot, change.slot, slotOf(at)),
    charged: markAfter(entry.charged, change.charged, mark),
  };
}

function markAfter(was: number | null, after: MarkAfter, present: number): number | null {
  if (after === "marked") return present;
  if (after === "cleared") return null;
  return after === "kept" ? was : (was ?? present);
}

export function checkCommit(commit: Commit): void {
  for (const change of commit.ledger ?? []) checkMicros(change);
  const lastSeq = commit.afterSeq + commit.events.length;
  if (commit.snapshot !== undefined && commit.snapshot.seq > lastSeq) {
    throw new JournalRecordError(
      `The snapshot of run "${commit.lease.runId}" has seq ${commit.snapshot.seq}, but the commit ends at ${lastSeq}. Nothing was written.`,
    );
  }
}

function checkMicros(change: LedgerChange): void {
  const micros = "amountMicros" in change ? change.amountMicros : change.type === "settle" ? change.costMicros : 0;
  if (Number.isSafeInteger(micros) && micros >= 0) return;
  throw new JournalRecordError(
    `The amount of a ${change.type} for step "${change.step}" is ${micros} micro-dollars; it must be a whole, non-negative number. Nothing was written.`,
  );
}
