import type { RunEvent } from "../../journal/events.ts";
import { isNews } from "../../journal/overcharge.ts";
import type { RunState } from "../../journal/state.ts";

/**
 * What earlier runs, the newest first, were charged above quotes, by models of this run's plan. Of each model the newest
 * run that knows its charges decides: one that was charged as quoted ends it.
 */
export function learnedPrices(state: RunState, recent: readonly RunState[]): readonly RunEvent[] {
  const requested = new Set(state.planned.plan.steps.flatMap((step) => ("model" in step ? [step.model] : [])));
  const decided = new Set<string>();
  const learned: RunEvent[] = [];
  for (const run of recent) {
    if (run.runId === state.runId) continue;
    for (const model of chargedModels(run)) {
      if (!requested.has(model) || decided.has(model)) continue;
      decided.add(model);
      const known = Object.hasOwn(run.overcharges, model) ? run.overcharges[model]! : null;
      if (known === null || known.times === 0) continue;
      const { worst, unquotedMicros } = known;
      if (!isNews(state, { model, worst, unquotedMicros })) continue;
      learned.push({ type: "price.learned", model, worst, unquotedMicros, runId: run.runId });
    }
  }
  return learned;
}

/** Models whose charges a run knows. */
function chargedModels({ steps, planned }: RunState): ReadonlySet<string> {
  const models = new Set<string>();
  for (const { attempts } of Object.values(steps)) {
    for (const { model, costMicros } of attempts) if (model !== null && costMicros !== null) models.add(model);
  }
  for (const plan of planned.plan.steps) {
    if (!("model" in plan)) continue;
    const isCharged = steps[plan.path]?.chats.some(({ costMicros }) => costMicros !== null);
    if (isCharged === true) models.add(plan.model);
  }
  return models;
}
