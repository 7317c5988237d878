export interface SharedBudget {
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

/** Enforces nothing: the budget is checked when a job reserves money. */
export async function leftOfBudget(show: Spends, { tag, budgetMicros }: SharedBudget): Promise<number> {
  return Math.max(0, budgetMicros - (await committedMicros(show, tag)));
}
