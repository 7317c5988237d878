export interface LedgerTotals {
  /** Sum of holds not yet settled or released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /** Counts the account's commits that brought charges. A balance requested after this was read shows all of them. */
  readonly mark: number;
}

/** Whose money is counted: a tag's runs or all of an account, since an instant or since the journal was begun. */
export interface SpendingScope {
  /** `key=value` that the runs carry; null: every run of the account. */
  readonly tag: string | null;
  /**
   * Epoch milliseconds, taken back to its quarter of an hour: holds made before it, and what they are charged later, do
   * not count. Null: all do.
   */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Spent and held together may come to so much. */
  readonly capMicros: number;
  /** The budget that the runs with the tag share. */
  readonly isBudget?: true;
}

/** What a commit that makes holds must leave, over every run and process on the store that uses the same account. */
export interface SpendingGuard {
  /** Caps are checked independently; a cap on a tag that the run lacks is ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * What the wallet must keep once everything is charged that it did not show yet; null: no floor. `mark` is
   * {@link AccountTotals.mark} as it was before the balance was asked for.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
