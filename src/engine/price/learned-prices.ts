import type { LedgerChange } from "../../journal/events/spec.ts";
import type { RunEvent } from "../../journal/events.ts";
import { isNews } from "../../journal/overcharge.ts";
import { accountOf } from "../../journal/record.ts";
import type { RunState } from "../../journal/state.ts";
import type { JournalStore, ModelCharges } from "../../journal/store.ts";
import { stepNamed } from "../../plan/plan-index.ts";

/**
 * What earlier runs of the account were charged above quotes, by models of this run's plan. Of each model the newest run
 * that was charged for it decides: one that was charged as quoted ends it.
 */
export async function learnedPrices(state: RunState, store: JournalStore): Promise<readonly RunEvent[]> {
  const account = accountOf(state.planned);
  const models = new Set(state.planned.plan.steps.flatMap((step) => ("model" in step ? [step.model] : [])));
  const learned: RunEvent[] = [];
  for (const model of models) {
    const charges = await store.charges({ account, model, exceptRun: state.runId });
    if (charges === null || (charges.worst === null && charges.unquotedMicros === null)) continue;
    if (isNews(state, charges)) learned.push({ type: "price.learned", ...charges });
  }
  return learned;
}

/** What later runs may learn from bills that the state holds already. */
export function chargesOf(state: RunState, changes: readonly LedgerChange[]): readonly ModelCharges[] {
  const models = new Set(changes.map((change) => chargedModel(state, change)));
  return [...models].flatMap((model) => {
    if (model === null) return [];
    const known = Object.hasOwn(state.overcharges, model) ? state.overcharges[model]! : null;
    const { worst, unquotedMicros } = known === null || known.times === 0 ? asQuoted : known;
    return [{ model, worst, unquotedMicros }];
  });
}

const asQuoted = { worst: null, unquotedMicros: null };

/** The model whose charge became known, if one did. */
function chargedModel({ steps, planned }: RunState, { type, step: path, attempt: n }: LedgerChange): string | null {
  if (type !== "settle") return null;
  const step = steps[path];
  const attempt = step?.attempts[n - 1];
  if (attempt !== undefined) return attempt.costMicros === null ? null : attempt.model;
  const plan = stepNamed(planned.plan, path);
  const isBilled = (step?.chats[n - 1]?.costMicros ?? null) !== null;
  return isBilled && plan !== undefined && "model" in plan ? plan.model : null;
}
