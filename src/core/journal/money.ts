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

/** Selects money: of one tag's runs or of the whole account, from the start or from a certain time. */
export interface SpendingScope {
  /** `key=value`: only runs with this tag. Null: all runs of the account. */
  readonly tag: string | null;
  /**
   * Epoch milliseconds, rounded down to a quarter of an hour. Holds before this time are ignored, with their later
   * charges. Null: includes all holds.
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
  /** Each cap is checked on its own. A cap on a tag that the run lacks is ignored. */
  readonly caps: readonly SpendingCap[];
  /**
   * `floorMicros` must remain in the wallet after all charges that its balance does not show yet. `mark`: the {@link
   * AccountTotals.mark} that was read before the balance was requested. Null: no minimum.
   */
  readonly wallet: { readonly balanceMicros: number; readonly mark: number; readonly floorMicros: number } | null;
}
