export interface LedgerTotals {
  /** Sum of holds that are neither settled nor released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /** Counts the account's commits with charges. A balance requested after reading this includes all of them. */
  readonly mark: number;
}

/** Which money counts: of a tag's runs or of the whole account, and from when. */
export interface SpendingScope {
  /** `key=value`: only runs with this tag; null: all runs of the account. */
  readonly tag: string | null;
  /**
   * Epoch milliseconds, rounded down to a quarter of an hour. Holds made earlier, and their later charges, do not
   * count. Null: all count.
   */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Maximum of spent and held money together. */
  readonly capMicros: number;
  /** True for a budget that the tag's runs share. */
  readonly isBudget?: true;
}

/** Limits for a commit with holds, across all of the account's runs and processes in this store. */
export interface SpendingGuard {
  /** Caps are checked independently; a cap on a tag that the run lacks is ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * What the wallet must keep after all charges that its balance does not show yet; null: no floor. `mark`: {@link
   * AccountTotals.mark} from before the balance was requested.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
