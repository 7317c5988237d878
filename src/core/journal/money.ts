export interface LedgerTotals {
  /** Sum of holds that are neither settled nor released. */
  readonly heldMicros: number;
  readonly settledMicros: number;
}

export interface AccountTotals extends LedgerTotals {
  /**
   * Number of commits that charged the account. A balance that is requested after this number was read includes the
   * charges of these commits.
   */
  readonly mark: number;
}

/** Selects the money that counts: of one tag's runs or of the whole account, from the start or from a given time. */
export interface SpendingScope {
  /** `key=value`: only runs with this tag; null: all runs of the account. */
  readonly tag: string | null;
  /**
   * Epoch milliseconds, rounded down to a quarter of an hour. Holds made before this time do not count, nor do their
   * later charges. Null: all holds count.
   */
  readonly sinceAt: number | null;
}

export interface SpendingCap extends SpendingScope {
  /** Maximum of spent and held money together. */
  readonly capMicros: number;
  /** True for a budget that the tag's runs share. */
  readonly isBudget?: true;
}

/** Limits on a commit that holds money. They apply across all of the account's runs and processes in this store. */
export interface SpendingGuard {
  /** Caps are checked independently; a cap on a tag that the run lacks is ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * The amount that must remain in the wallet after all charges that its balance does not show yet; null: no minimum.
   * `mark`: the {@link AccountTotals.mark} that was read before the balance was requested.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
