import type { LedgerChange } from "./events/spec.ts";
import { heldBy, heldElsewhereBy, type LedgerEntry, slotOf } from "./record.ts";
import type { Commit, CommitOutcome, SpendingGuard, SpendingScope } from "./store.ts";

export interface AccountMoney {
  committedMicros(scope: SpendingScope): number;
  /**
   * Returns the total of the charges that a balance does not include yet. `mark` is the value of the charge counter
   * before the balance was read.
   */
  unseenMicros(mark: number): number;
}

type Refusal = Extract<CommitOutcome, { readonly reason: "cap" | "floor" }>;

export interface Guarded {
  readonly refused: Refusal | null;
  readonly committedMicros: readonly number[];
}

/**
 * Returns the limits for the commit's holds; null if there are no holds. Leaves out the wallet's limit if only
 * providers charge for the work.
 */
export function guardOf({ guard, ledger = [] }: Commit): SpendingGuard | null {
  const requested = heldBy(ledger);
  if (guard === undefined || requested === 0) return null;
  return requested === heldElsewhereBy(ledger) ? { ...guard, wallet: null } : guard;
}

export function guarded(commit: Commit, moneyAfter: () => AccountMoney): Guarded {
  const guard = guardOf(commit);
  if (guard === null) return { refused: null, committedMicros: [] };
  const { ledger = [] } = commit;
  const money = moneyAfter();
  const committedMicros = guard.caps.map((cap) => money.committedMicros(cap));
  const refused = overCap(guard, heldBy(ledger), committedMicros) ?? belowFloor(guard, ledger, money);
  return { refused, committedMicros };
}

function overCap({ caps }: SpendingGuard, requested: number, allCommitted: readonly number[]): Refusal | null {
  for (const [index, cap] of caps.entries()) {
    const after = allCommitted[index]!;
    if (after <= cap.capMicros) continue;
    const committedMicros = after - requested;
    const headroomMicros = Math.max(0, cap.capMicros - committedMicros);
    return { committed: false, reason: "cap", cap, headroomMicros, committedMicros };
  }
  return null;
}

/** Returns true if the entry belongs to the scope's period. The scope's tag is ignored. */
export function isSince({ sinceAt }: SpendingScope, { slot }: LedgerEntry): boolean {
  return sinceAt === null || (slot !== null && slot >= slotOf(sinceAt));
}

function belowFloor({ wallet }: SpendingGuard, ledger: readonly LedgerChange[], money: AccountMoney): Refusal | null {
  if (wallet === null) return null;
  // Money held for a provider counts only until the balance is read again, because the wallet does not pay it.
  const unseen = money.unseenMicros(wallet.mark);
  if (wallet.balanceMicros - unseen >= wallet.floorMicros) return null;
  const unseenMicros = unseen - (heldBy(ledger) - heldElsewhereBy(ledger));
  const headroomMicros = Math.max(0, wallet.balanceMicros - unseenMicros - wallet.floorMicros);
  return { committed: false, reason: "floor", headroomMicros, unseenMicros };
}

export function unseenOf({ heldMicros, settledMicros, charged }: LedgerEntry, mark: number): number {
  return charged === null || charged > mark ? heldMicros + settledMicros : 0;
}
