import type { RunView, StepView } from "../../../core/view/index.ts";

const MOST_POINTS = 200;

export function runCosts({ steps, removed }: RunView) {
  const all = [...steps, ...removed];
  return { models: modelCosts(all), spent: spentOverTime(all) };
}

/** Returns whether an attempt can cost money. Task attempts (`try`) cost nothing. */
export function isBilled({ kind }: Pick<StepView["attempts"][number], "kind">): boolean {
  return kind !== "try";
}

function modelCosts(steps: readonly StepView[]) {
  const rows = Map.groupBy(
    steps.filter(({ model }) => model !== null),
    ({ model }) => model!,
  );
  const models = [...rows].map(([name, own]) => {
    const quotes = own.flatMap(({ quote }) => quote?.costMicros ?? []);
    return {
      name,
      count: own.reduce((sum, { attempts }) => sum + attempts.filter(isBilled).length, 0),
      quoted: quotes.length === 0 ? null : quotes.reduce((sum, quote) => sum + quote, 0),
      held: own.reduce((sum, { heldMicros }) => sum + heldMicros, 0),
      cost: own.reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0),
    };
  });
  return models.sort((a, b) => b.cost - a.cost || b.held - a.held);
}

/** Returns the cumulative charges over time. Leaves out some points if there are many, but never the last. */
function spentOverTime(steps: readonly StepView[]) {
  const charges = steps
    .flatMap(({ attempts }) => attempts.filter(isBilled))
    .flatMap(({ costMicros, submittedAt, sentAt, endedAt }) => {
      const at = endedAt ?? submittedAt ?? sentAt;
      return costMicros === null || costMicros === 0 || at === null ? [] : [{ costMicros, at }];
    })
    .sort((a, b) => a.at - b.at);
  const every = Math.max(1, Math.ceil(charges.length / MOST_POINTS));
  let sum = 0;
  const points = charges.map(({ at, costMicros }) => {
    sum += costMicros;
    return { at, sumMicros: sum };
  });
  return points.filter((_, index) => (points.length - 1 - index) % every === 0);
}
