export interface SharedBudget {
  /** The tag, as `key=value`. */
  readonly tag: string;
  readonly budgetMicros: number;
}

interface Spends {
  spending(of: { readonly tag: string }): Promise<{ readonly spentMicros: number; readonly heldMicros: number }>;
}

export async function committedMicros(show: Spends, tag: string): Promise<number> {
  const { spentMicros, heldMicros } = await show.spending({ tag });
  return spentMicros + heldMicros;
}

/**
 * Returns what is left of a budget, in micro-dollars. The budget itself is enforced only when money is reserved for a
 * job.
 */
export async function leftOfBudget(show: Spends, { tag, budgetMicros }: SharedBudget): Promise<number> {
  return Math.max(0, budgetMicros - (await committedMicros(show, tag)));
}
