import { type Catalog, combinationTable } from "../../catalog/index.ts";
import { cleanText } from "../../kit/clean-text.ts";
import type { PlanStep, Problem } from "../../plan/plan.ts";
import type { Quote } from "./quote.ts";
import type { PlanWarning } from "./totals.ts";

/** Tables of combinations that are read in part, of the models with these ids. */
export function unreadTables(models: readonly string[], catalog: Catalog): readonly PlanWarning[] {
  return models.flatMap((id): readonly PlanWarning[] => {
    const model = catalog.model(id);
    const table = model === null ? null : combinationTable(model.inputSchema);
    if (table === null || table.unread.length === 0) return [];
    const what = `publishes a table of combinations with a line that cannot be read: ${cleanText(table.unread[0]!, 200)}`;
    const effect = table.isWhole ? "" : "; nothing is refused because of the table";
    return [{ code: "unread-table", step: id, message: what + effect }];
  });
}

/** What was planned, or why not; `doubted` where only defaults stand against it. */
type Doubtful<Made> =
  | ({ readonly ok: true } & Made)
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly doubted?: Made };

/**
 * Whether a default counts as given is the service's to say: what its estimate takes is no problem any more, and reported as
 * a warning. `price`: asks it about these steps.
 */
export async function settleDoubts<Made extends object>(
  outcome: Doubtful<Made>,
  stepsOf: (made: Made) => readonly PlanStep[],
  price: (made: Made, steps: readonly PlanStep[]) => Promise<Pick<Quote, "prices" | "problems">>,
): Promise<Doubtful<Made> & { readonly warnings: readonly PlanWarning[] }> {
  if (outcome.ok || outcome.doubted === undefined) return { ...outcome, warnings: [] };
  const { problems, doubted } = outcome;
  // Takes are reported under the path of all of them.
  const isOf = ({ path }: PlanStep, step: string | null) => path === step || path.startsWith(`${step}/`);
  const steps = stepsOf(doubted).filter((planStep) => problems.some(({ step }) => isOf(planStep, step)));
  const accepted = acceptedIn(await price(doubted, steps));
  const refused = problems.filter(({ step }) =>
    steps.some((planStep) => isOf(planStep, step) && !accepted.has(planStep.path)),
  );
  const warnings = problems
    .filter((problem) => !refused.includes(problem))
    .map(({ step, message }): PlanWarning => {
      const settled = `${message}. The service takes it, and has the last word`;
      return { code: "accepted-anyway", step: step ?? "", message: settled };
    });
  return refused.length === 0 ? { ok: true, ...doubted, warnings } : { ok: false, problems: refused, warnings };
}

/** The steps whose input the service takes, whether or not it can say a price. */
function acceptedIn({ prices, problems }: Pick<Quote, "prices" | "problems">): ReadonlySet<string> {
  const refused = new Set(problems.filter(({ code }) => code !== "unquotable").map(({ step }) => step));
  const taken = prices.filter(({ step, costMicros, basis }) => {
    return costMicros !== null || (basis === "unquotable" && !refused.has(step));
  });
  return new Set(taken.map(({ step }) => step));
}
