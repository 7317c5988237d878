import { AssertionError } from "node:assert";
import { FoldedRun, formatUsd, type JournalStore, parseUsd } from "../internal.ts";

/** At no event were spent and reserved money together above the budget. */
export async function assertWithinBudget(journal: JournalStore, runId: string, budget?: string): Promise<void> {
  const given = budget === undefined ? null : parseUsd(budget);
  if (budget !== undefined && given === null) {
    throw new TypeError(`budget: ${JSON.stringify(budget)} is no amount of dollars; write it like "5" or "0.25".`);
  }
  const folded = new FoldedRun();
  for (const stored of await journal.read(runId)) {
    folded.add(stored);
    const { spentMicros, heldMicros, unconfirmedMicros, budgetMicros } = folded.view!.state;
    const limit = given ?? budgetMicros;
    if (limit === null) {
      throw new TypeError(`Run ${runId} has no budget: run it with { budget: "5" }, or give one to the assertion.`);
    }
    const committed = spentMicros + heldMicros + unconfirmedMicros;
    if (committed <= limit) continue;
    throw new AssertionError({
      message: `Run ${runId} passed its budget of ${formatUsd(limit)} at event ${stored.seq}, ${stored.event.type}: ${formatUsd(spentMicros)} spent and ${formatUsd(committed - spentMicros)} reserved.`,
      actual: formatUsd(committed),
      expected: `at most ${formatUsd(limit)}`,
    });
  }
}
