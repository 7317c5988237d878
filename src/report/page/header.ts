import { formatDuration } from "../../index.ts";
import type { ReportFacts, StepFacts } from "../facts.ts";
import { count, difference, instant, listed, sumKnown, usd, usdOr } from "./format.ts";
import { badge, type Html, html } from "./html.ts";

const MOST = 300;

/** What was retried, put back, refused or paused, and why. */
export function incidents({ incidents: all, startedAt }: ReportFacts): Html {
  if (all.length === 0) return html`<p class="empty">No incident: no retry, no pause, no refusal.</p>`;
  const shown = all.slice(0, MOST);
  return html`<ol class="incidents">${shown.map(
    ({ at, step, what, why, costMicros }) =>
      html`<li><time title="${instant(at)}">+${elapsed(at - startedAt)}</time><div><strong>${step === null ? "run" : step}</strong> ${what}${costMicros === null ? "" : costMicros === 0 ? " (refunded)" : ` (cost ${usd(costMicros)})`}${why === "" ? null : html`<br><span class="why">${why.slice(0, 2000)}</span>`}</div></li>`,
  )}</ol>${all.length > MOST ? html`<p class="hint">… and ${all.length - MOST} more, in <code>showrunner events</code>.</p>` : null}`;
}

function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

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
  const paid = steps.flatMap((step) => (step.model === null ? [] : [{ ...step, model: step.model }]));
  return [...Map.groupBy(paid, ({ model }) => model)]
    .map(([model, own]) => ({
      model,
      steps: own.length,
      jobs: own.reduce((sum, { attempts }) => sum + attempts.length, 0),
      quoteMicros: sumKnown(own.map(({ quote }) => quote?.costMicros ?? null)),
      costMicros: sumKnown(own.map(({ costMicros }) => costMicros)),
    }))
    .sort((a, b) => (b.costMicros ?? b.quoteMicros ?? 0) - (a.costMicros ?? a.quoteMicros ?? 0));
}

function costBar({ costMicros, quoteMicros }: ModelCosts, most: number): Html {
  const share = (micros: number | null) => Math.round(((micros ?? 0) / most) * 1000) / 10;
  return html`<svg width="100%" height="12" aria-hidden="true"><rect class="quoted" width="${share(quoteMicros)}%" height="12" rx="3"/><rect class="paid" y="3" width="${share(costMicros)}%" height="6" rx="2"/></svg>`;
}

/** Title, what happened in one sentence, and the figures that people ask for first. */
export function header(facts: ReportFacts): Html {
  const { report } = facts;
  return html`<header>
<p class="kicker">Showrunner report</p>
<h1>${report.pipeline}</h1>
<p class="lead">${badge(report.status)} <span class="run">run <code>${report.id}</code></span></p>
<p class="sentence">${sentence(facts)}</p>
${callout(facts)}
<dl class="tiles">${tiles(facts)}</dl>
</header>`;
}

function sentence(facts: ReportFacts): string {
  const { report, fileCount, steps } = facts;
  const duration = formatDuration(facts.report.took_ms);
  const created = fileCount === 0 ? "no files" : count(fileCount, "file");
  const ready = steps.filter(({ status }) => status === "succeeded").length;
  const failed = steps.filter(({ status }) => status === "failed").map(({ path }) => path);
  const cost = usd(facts.costMicros);
  switch (report.status) {
    case "succeeded":
      return `Produced ${created} in ${duration} for ${cost}${verdict(facts)}.`;
    case "partial":
      return `Produced ${created} in ${duration} for ${cost}; a part of the results is missing${failed.length > 0 ? `, because ${listed(failed)} failed` : ""}.`;
    case "failed":
      return `Failed after ${duration}, having cost ${cost}${failed.length > 0 ? `: ${listed(failed)} failed` : ""}.`;
    case "cancelled":
      return `Cancelled after ${duration}, having cost ${cost}.`;
    case "paused":
      return `Paused with ${ready} of ${count(steps.length, "step")} done, having cost ${cost}. What is paid for is stored.`;
    case "interrupted":
      return `Interrupted with ${ready} of ${count(steps.length, "step")} done, having cost ${cost}. What is paid for is stored.`;
    case "planned":
      return `Planned with ${count(steps.length, "step")}; not started, nothing spent.`;
    default:
      return `Running: ${ready} of ${count(steps.length, "step")} done, ${cost} spent so far. This page shows the moment it was written.`;
  }
}

function verdict({ costMicros, quoteMicros }: ReportFacts): string {
  if (quoteMicros === null || costMicros === 0) return "";
  if (costMicros === quoteMicros) return ", exactly as quoted";
  return costMicros < quoteMicros
    ? `, ${usd(quoteMicros - costMicros)} below the quote`
    : `, ${usd(costMicros - quoteMicros)} above the quote`;
}

function callout(facts: ReportFacts): Html | null {
  const { report, steps } = facts;
  const problems = steps.filter(({ status, reason }) => reason !== null && ["failed", "unresolved"].includes(status));
  if (report.status === "paused" || report.status === "interrupted") {
    const title = report.status === "paused" ? `Waiting: ${report.pause?.reason ?? "paused"}` : "Interrupted";
    return html`<div class="callout warn"><h2>${title}</h2>
<p>${report.message}</p>
${report.pause?.funding_url ? html`<p>Add funds: <span class="breakable">${report.pause.funding_url}</span></p>` : null}
${goOn(report)}</div>`;
  }
  if (problems.length === 0) return null;
  return html`<div class="callout bad"><h2>What went wrong</h2>
<ul>${problems.slice(0, 8).map(({ path, reason }) => html`<li><strong>${path}</strong>: ${reason}</li>`)}</ul>
${problems.length > 8 ? html`<p>… and ${problems.length - 8} more, below.</p>` : null}
${goOn(report)}</div>`;
}

function goOn({ next }: ReportFacts["report"]): Html | null {
  if (next === null) return null;
  return html`<p>Go on with <code>${next.command}</code>${next.note === null ? null : ` (${next.note})`}</p>`;
}

function tiles(facts: ReportFacts): readonly Html[] {
  const { report, budgetMicros, quoteMicros, costMicros, heldMicros, unconfirmedMicros, steps } = facts;
  const jobs = steps.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const done = steps.filter(({ status }) => status === "succeeded").length;
  const notes = [
    budgetMicros === null ? null : `of a budget of ${usd(budgetMicros)}`,
    heldMicros === 0 ? null : `and ${usd(heldMicros)} held`,
    unconfirmedMicros === 0 ? null : `and perhaps ${usd(unconfirmedMicros)} for questions without an answer`,
  ];
  return [
    tile("Cost", usd(costMicros), notes.filter((note) => note !== null).join(", ")),
    tile("Quote", usdOr(quoteMicros), report.status === "succeeded" ? difference(costMicros, quoteMicros) : ""),
    tile("Steps", `${done} / ${steps.length}`, jobs === 0 ? "no jobs" : count(jobs, "paid job")),
    tile("Time", formatDuration(report.took_ms), `from ${instant(facts.startedAt)}`),
  ];
}

function tile(name: string, value: string, note: string): Html {
  return html`<div><dt>${name}</dt><dd class="figure">${value}</dd>${note === "" ? null : html`<dd class="note">${note}</dd>`}</div>`;
}
