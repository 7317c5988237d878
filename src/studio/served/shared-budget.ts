/** What runs with a tag may cost together, over all time. */
export interface SharedBudget {
  /** `key=value`. */
  readonly tag: string;
  readonly budgetMicros: number;
}

interface Spends {
  spending(of: { readonly tag: string }): Promise<{ readonly spentMicros: number; readonly heldMicros: number }>;
}

/** What the runs with a tag have cost and hold until now, micro-dollars. */
export async function committedMicros(show: Spends, tag: string): Promise<number> {
  const { spentMicros, heldMicros } = await show.spending({ tag });
  return spentMicros + heldMicros;
}

/**
 * What is left of a budget, micro-dollars: to say, and to refuse early with a reason. What keeps to it, however many start at
 * once, is the transaction that reserves money for a submit, to which it is a cap on the tag.
 */
export async function leftOfBudget(show: Spends, { tag, budgetMicros }: SharedBudget): Promise<number> {
  return Math.max(0, budgetMicros - (await committedMicros(show, tag)));
}
