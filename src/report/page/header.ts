import { formatDuration } from "../../index.ts";
import type { ReportFacts } from "../facts.ts";
import { type Html, html } from "./html.ts";
import { badge } from "./status.ts";
import { count, difference, instant, listed, usd, usdOr } from "./words.ts";

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
  const { report, files, steps } = facts;
  const took = formatDuration(facts.report.took_ms);
  const made = files.length === 0 ? "no files" : count(files.length, "file");
  const ready = steps.filter(({ status }) => status === "succeeded").length;
  const failed = steps.filter(({ status }) => status === "failed").map(({ path }) => path);
  const cost = usd(facts.costMicros);
  switch (report.status) {
    case "succeeded":
      return `Made ${made} in ${took} for ${cost}${verdict(facts)}.`;
    case "partial":
      return `Made ${made} in ${took} for ${cost}; a part of what was asked for is missing${failed.length > 0 ? `, because ${listed(failed)} failed` : ""}.`;
    case "failed":
      return `Failed after ${took}, having cost ${cost}${failed.length > 0 ? `: ${listed(failed)} failed` : ""}.`;
    case "cancelled":
      return `Cancelled after ${took}, having cost ${cost}.`;
    case "paused":
      return `Paused with ${ready} of ${count(steps.length, "step")} done, having cost ${cost}. What is paid for is kept.`;
    case "interrupted":
      return `Interrupted with ${ready} of ${count(steps.length, "step")} done, having cost ${cost}. What is paid for is kept.`;
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
  const { report, budgetMicros, quoteMicros, costMicros, heldMicros, presumedMicros, steps } = facts;
  const jobs = steps.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const done = steps.filter(({ status }) => status === "succeeded").length;
  const notes = [
    budgetMicros === null ? null : `of a budget of ${usd(budgetMicros)}`,
    heldMicros === 0 ? null : `and ${usd(heldMicros)} held`,
    presumedMicros === 0 ? null : `and perhaps ${usd(presumedMicros)} for questions without an answer`,
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
