import type { ReportFacts, StepFacts } from "../facts.ts";
import { type Html, html } from "./html.ts";
import { difference, usd, usdOr } from "./words.ts";

interface ModelCosts {
  readonly model: string;
  readonly steps: number;
  readonly jobs: number;
  readonly quoteMicros: number | null;
  readonly costMicros: number | null;
}

/** Quoted against paid, model by model, the dearest first. */
export function costsByModel(facts: ReportFacts): Html {
  const models = byModel(facts.steps);
  if (models.length === 0) return html`<p class="empty">No step of this run costs anything.</p>`;
  const most = models.reduce((max, { costMicros, quoteMicros }) => Math.max(max, costMicros ?? 0, quoteMicros ?? 0), 1);
  const rows = models.map(
    (one) =>
      html`<tr><th scope="row">${one.model}</th><td class="n">${one.jobs}</td><td class="n">${usdOr(one.quoteMicros)}</td><td class="n">${usdOr(one.costMicros)}</td><td class="n">${difference(one.costMicros, one.quoteMicros)}</td><td class="bar">${costBar(one, most)}</td></tr>`,
  );
  const quoted = models.every(({ quoteMicros }) => quoteMicros !== null)
    ? models.reduce((sum, { quoteMicros }) => sum + (quoteMicros ?? 0), 0)
    : null;
  return html`<div class="scroll" role="region" aria-label="Costs by model" tabindex="0"><table>
<thead><tr><th scope="col">Model</th><th scope="col" class="n">Jobs</th><th scope="col" class="n">Quoted</th><th scope="col" class="n">Paid</th><th scope="col" class="n">Difference</th><th scope="col"><span class="unseen">Share</span></th></tr></thead>
<tbody>${rows}</tbody>
<tfoot><tr><th scope="row">Total</th><td class="n">${models.reduce((sum, { jobs }) => sum + jobs, 0)}</td><td class="n">${usdOr(quoted)}</td><td class="n">${usd(facts.costMicros)}</td><td class="n">${difference(facts.costMicros, quoted)}</td><td></td></tr></tfoot>
</table></div>`;
}

function byModel(steps: readonly StepFacts[]): readonly ModelCosts[] {
  const groups = new Map<string, StepFacts[]>();
  for (const step of steps) if (step.model !== null) groups.set(step.model, [...(groups.get(step.model) ?? []), step]);
  return [...groups]
    .map(([model, own]) => ({
      model,
      steps: own.length,
      jobs: own.reduce((sum, { attempts }) => sum + attempts.length, 0),
      quoteMicros: sumKnown(own.map(({ quoteMicros }) => quoteMicros)),
      costMicros: sumKnown(own.map(({ costMicros }) => costMicros)),
    }))
    .sort((a, b) => (b.costMicros ?? b.quoteMicros ?? 0) - (a.costMicros ?? a.quoteMicros ?? 0));
}

function sumKnown(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? null : known.reduce((sum, amount) => sum + amount, 0);
}

function costBar({ costMicros, quoteMicros }: ModelCosts, most: number): Html {
  const share = (micros: number | null) => Math.round(((micros ?? 0) / most) * 1000) / 10;
  return html`<svg width="100%" height="12" aria-hidden="true"><rect class="quoted" width="${share(quoteMicros)}%" height="12" rx="3"/><rect class="paid" y="3" width="${share(costMicros)}%" height="6" rx="2"/></svg>`;
}
