export interface SharedBudget {
  /** The tag, as `key=value`. */
  readonly tag: string;
  readonly budgetMicros: number;
}

interface Spends {
  spending(of: { readonly tag: string }): Promise<{ readonly spentMicros: number; readonly heldMicros: number }>;
}

/** Returns the total that runs with a tag have spent and reserved so far, in micro-dollars. */
export async function committedMicros(show: Spends, tag: string): Promise<number> {
  const { spentMicros, heldMicros } = await show.spending({ tag });
  return spentMicros + heldMicros;
}

/**
 * Returns the money left in a budget, in micro-dollars, for display and for early refusals. The budget is enforced as a
 * cap on the tag by the transaction that reserves money for a submit, however many runs start at once.
 */
export async function leftOfBudget(show: Spends, { tag, budgetMicros }: SharedBudget): Promise<number> {
  return Math.max(0, budgetMicros - (await committedMicros(show, tag)));
}
