export interface LedgerTotals {
  /** Sum of holds that are neither settled nor released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /** Number of commits that charged the account. A wallet balance that is read later includes these charges. */
  readonly mark: number;
}

/** Selects which money of an account is summed, by tag and by time. */
export interface SpendingScope {
  /** Tag (`key=value`) of the runs to include; null for all runs of the account. */
  readonly tag: string | null;
  /**
   * Epoch milliseconds, rounded down to a quarter of an hour. Earlier holds and their charges are left out; null
   * includes all.
   */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Maximum amount that may be spent and held together. */
  readonly capMicros: number;
  /** True for a budget that the runs of a tag share. */
  readonly isBudget?: true;
}

/** Limits for a commit that reserves money, shared by all of the account's runs in this store. */
export interface SpendingGuard {
  /** Caps, each checked on its own. A cap on a tag that the run lacks is ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * The minimum that must remain in the wallet; null if there is none. `mark`: the {@link AccountTotals.mark} that was
   * read before the balance.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
