import type { SpendingGuard, SpendingScope } from "./money.ts";
import { type LedgerEntry, slotOf } from "./record.ts";
import type { Commit, CommitOutcome } from "./store.ts";

/** The account's money as it would be after a commit. */
export interface AccountMoney {
  /** Spent and held, over the runs and the time that a cap counts. */
  committedMicros(scope: SpendingScope): number;
  /** The part that a balance read at the mark cannot show: held or spent, and not known to be charged before it. */
  unseenMicros(mark: number): number;
}

type Refusal = Extract<CommitOutcome, { readonly reason: "cap" | "floor" }>;

/** Why a commit that makes holds breaks its guard; null when it does not, or makes none. What is free breaks none. */
export function refusalOf({ guard, ledger = [] }: Commit, moneyAfter: () => AccountMoney): Refusal | null {
  const requested = ledger.reduce((sum, change) => sum + (change.type === "hold" ? change.amountMicros : 0), 0);
  if (guard === undefined || requested === 0) return null;
  const money = moneyAfter();
  return overCap(guard, requested, money) ?? belowFloor(guard, requested, money);
}

function overCap({ caps }: SpendingGuard, requested: number, money: AccountMoney): Refusal | null {
  for (const cap of caps) {
    const after = money.committedMicros(cap);
    if (after <= cap.capMicros) continue;
    const committedMicros = after - requested;
    const headroomMicros = Math.max(0, cap.capMicros - committedMicros);
    return { committed: false, reason: "cap", cap, headroomMicros, committedMicros };
  }
  return null;
}

/** Whether an entry counts for a cap, apart from its run's tags. */
export function isSince({ sinceAt }: SpendingScope, { slot }: LedgerEntry): boolean {
  return sinceAt === null || (slot !== null && slot >= slotOf(sinceAt));
}

function belowFloor({ wallet }: SpendingGuard, requested: number, money: AccountMoney): Refusal | null {
  if (wallet === null) return null;
  const unseen = money.unseenMicros(wallet.mark);
  if (wallet.balanceMicros - unseen >= wallet.floorMicros) return null;
  const unseenMicros = unseen - requested;
  const headroomMicros = Math.max(0, wallet.balanceMicros - unseenMicros - wallet.floorMicros);
  return { committed: false, reason: "floor", headroomMicros, unseenMicros };
}

/** What a ledger entry adds to {@link AccountMoney.unseenMicros}. */
export function unseenOf({ heldMicros, settledMicros, charged }: LedgerEntry, mark: number): number {
  return charged === null || charged > mark ? heldMicros + settledMicros : 0;
}
