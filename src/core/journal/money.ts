export interface LedgerTotals {
  /** Sum of holds that are neither settled nor released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /** Counts the commits that charged the account. A balance that is read later includes these charges. */
  readonly mark: number;
}

/** Selects which money of an account is summed, by tag and by time. */
export interface SpendingScope {
  /** Tag (`key=value`) of the runs to include; null for all runs of the account. */
  readonly tag: string | null;
  /** Leaves out earlier holds and their charges. Epoch milliseconds, rounded down to a quarter of an hour. */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Maximum of spent and held money together. */
  readonly capMicros: number;
  /** True for a budget that the runs of a tag share. */
  readonly isBudget?: true;
  /** The key of a cap that applies to each value of a tag separately. */
  readonly anyValueOf?: string;
}

/** Limits on the account's money that a commit must not exceed. */
export interface SpendingGuard {
  /** Caps for a tag that the run lacks are ignored. */
  readonly caps: readonly SpendingCap[];
  /** `mark`: the {@link AccountTotals.mark} that was read before the balance. */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
