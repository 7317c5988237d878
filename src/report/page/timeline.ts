import { formatDuration, type TimelinePhase } from "../../index.ts";
import { type Axis, axisOf } from "../axis.ts";
import type { ReportFacts } from "../facts.ts";
import { MANY_STEPS } from "../groups.ts";
import { type Bar, barsOf, packedRows, type Row, rowPerStep } from "../lanes.ts";
import { type Html, html } from "./html.ts";

const phases: Readonly<Record<TimelinePhase, string>> = {
  queue: "waiting in the service's queue",
  render: "rendering",
  download: "downloading",
  upload: "uploading",
  task: "local task",
  chat: "language model",
  approval: "waiting for a person",
};

/** When each step queued, rendered and was downloaded. Rows are packed where there are many steps. */
export function timeline(facts: ReportFacts): Html {
  const bars = barsOf(facts.spans, facts.lastAt);
  if (bars.length === 0) return html`<p class="empty">Nothing has begun.</p>`;
  const axis = axisOf(bars);
  const order = facts.steps.map(({ path }) => path);
  const isMany = new Set(bars.map(({ step }) => step)).size > MANY_STEPS;
  const rows = isMany ? packedRows(bars) : rowPerStep(bars, order);
  const failed = new Set(
    facts.steps.flatMap(({ path, attempts }) =>
      attempts.filter(({ error }) => error !== null).map(({ n }) => `${path} ${n}`),
    ),
  );
  const used = new Set(facts.spans.map(({ phase }) => phase));
  return html`<ul class="legend">${(Object.keys(phases) as TimelinePhase[])
    .filter((phase) => used.has(phase))
    .map(
      (phase) =>
        html`<li><svg width="14" height="10" aria-hidden="true"><rect class="ph-${phase}" width="14" height="10" rx="2"/></svg> ${phases[phase]}</li>`,
    )}
${failed.size > 0 ? html`<li><svg width="14" height="10" aria-hidden="true"><rect class="failed" x="1" y="1" width="12" height="8" rx="2"/></svg> failed attempt</li>` : null}
${axis.cuts.length > 0 ? html`<li><svg width="14" height="10" aria-hidden="true"><rect class="cut" width="14" height="10"/></svg> time cut out, in which nothing was done</li>` : null}</ul>
<div class="gantt${isMany ? " packed" : ""}" role="img" aria-label="Timeline of ${rows.length} rows; the table of steps says the same in figures">
${scale(axis)}${rows.map((row) => ganttRow(row, axis, failed))}
</div>`;
}

function scale({ ticks, cuts }: Axis): Html {
  return html`<div class="row scale"><span></span><svg width="100%" height="18" class="lane">
${ticks.map(({ x, label }) => html`<text x="${round(x)}%" y="12" dx="3">${label}</text>`)}
${cuts.map(({ x, width, label }) => html`<rect class="cut" x="${round(x)}%" width="${round(width)}%" height="18"><title>${label} in which nothing was done</title></rect>`)}</svg><span></span></div>
`;
}

function ganttRow({ label, bars }: Row, axis: Axis, failed: ReadonlySet<string>): Html {
  const workMs = bars.reduce((sum, { from, to }) => sum + to - from, 0);
  return html`<div class="row"><span class="label" title="${label}">${label}</span><svg width="100%" height="18" class="lane">
${axis.ticks.map(({ x }) => html`<line x1="${round(x)}%" x2="${round(x)}%" y1="0" y2="18" class="tick"/>`)}${axis.cuts.map(({ x, width }) => html`<rect class="cut" x="${round(x)}%" width="${round(width)}%" height="18"/>`)}
${bars.map((bar) => barMarks(bar, axis, failed))}</svg><span class="took">${label === "" ? "" : formatDuration(workMs)}</span></div>
`;
}

function barMarks(bar: Bar, axis: Axis, failed: ReadonlySet<string>): Html {
  const isFailed = failed.has(`${bar.step} ${bar.attempt}`);
  const marks = bar.spans.map(({ phase, from, to, isOpen }) => {
    const x = axis.place(from);
    const said = `${bar.step}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ""}: ${phases[phase]}, ${formatDuration(to - from)}${isOpen ? " so far" : ""}`;
    return html`<rect class="ph-${phase}" x="${round(x)}%" y="3" width="${round(Math.max(0.15, axis.place(to) - x))}%" height="12"><title>${said}</title></rect>`;
  });
  if (!isFailed) return html`${marks}`;
  const x = axis.place(bar.from);
  return html`${marks}<rect class="failed" x="${round(x)}%" y="2" width="${round(Math.max(0.3, axis.place(bar.to) - x))}%" height="14" rx="2"/>`;
}

function round(percent: number): number {
  return Math.round(percent * 1000) / 1000;
}
