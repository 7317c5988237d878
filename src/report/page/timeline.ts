import { formatDuration, type TimelinePhase, type TimelineSpan } from "../../index.ts";
import { type Axis, axisOf } from "../axis.ts";
import type { ReportFacts } from "../facts.ts";
import { MANY_STEPS, patternOf } from "../groups.ts";
import { type Html, html, type Piece } from "./html.ts";

/** All phases of one attempt. */
export interface Bar {
  readonly step: string;
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
  readonly spans: readonly (TimelineSpan & { readonly to: number; readonly isOpen: boolean })[];
}

export interface Row {
  readonly label: string;
  readonly bars: readonly Bar[];
}

/** The attempts of a timeline; an open one ends at `now`. */
export function barsOf(spans: readonly TimelineSpan[], now: number): readonly Bar[] {
  const attempts = new Map<string, Bar["spans"][number][]>();
  for (const span of spans) {
    const key = `${span.attempt} ${span.step}`;
    const own = attempts.get(key) ?? [];
    own.push({ ...span, to: span.to ?? now, isOpen: span.to === null });
    attempts.set(key, own);
  }
  return [...attempts.values()].map((own) => ({
    step: own[0]!.step,
    attempt: own[0]!.attempt,
    from: own[0]!.from,
    to: own.at(-1)!.to,
    spans: own,
  }));
}

/** One row a step, those that began first on top; of those that began together, as planned. */
export function rowPerStep(bars: readonly Bar[], order: readonly string[]): readonly Row[] {
  const rows = order.flatMap((step) => {
    const own = bars.filter((bar) => bar.step === step);
    return own.length === 0 ? [] : [{ label: step, bars: own }];
  });
  return rows.sort((a, b) => a.bars[0]!.from - b.bars[0]!.from);
}

/** Steps that are alike share rows: as many as ran at the same time. Only the first row of them carries the name. */
export function packedRows(bars: readonly Bar[]): readonly Row[] {
  return groupsOf(bars).flatMap(({ label, bars: own }) => {
    return pack(own).map((row, at) => ({ label: at === 0 ? label : "", bars: row }));
  });
}

function groupsOf(bars: readonly Bar[]): readonly Row[] {
  return [...Map.groupBy(bars, ({ step }) => patternOf(step))].map(([pattern, own]) => {
    const steps = new Set(own.map(({ step }) => step));
    return { label: steps.size === 1 ? own[0]!.step : `${steps.size} × ${pattern}`, bars: own };
  });
}

function pack(bars: readonly Bar[]): readonly (readonly Bar[])[] {
  const rows: { free: number; bars: Bar[] }[] = [];
  for (const bar of bars.toSorted((a, b) => a.from - b.from)) {
    const row = rows.find(({ free }) => free <= bar.from);
    if (row === undefined) rows.push({ free: bar.to, bars: [bar] });
    else {
      row.free = bar.to;
      row.bars.push(bar);
    }
  }
  return rows.map((row) => row.bars);
}

/** More than these are not drawn one by one. */
const MOST_BARS = 3000;
const MOST_ROWS = 60;
const SLOTS = 160;

/** A row for all steps that are alike; beyond so many rows, one for all others. */
function denseRows(bars: readonly Bar[]): readonly Row[] {
  const groups = groupsOf(bars).toSorted((a, b) => b.bars.length - a.bars.length);
  const others = groups.slice(MOST_ROWS).flatMap((group) => group.bars);
  const rest = { label: `${new Set(others.map(({ step }) => step)).size} other steps`, bars: others };
  return others.length === 0 ? groups : [...groups.slice(0, MOST_ROWS), rest];
}

/** How busy the steps of a row were over time, and with what most. */
function densityMarks(bars: readonly Bar[], axis: Axis): readonly Html[] {
  const slots = Array.from({ length: SLOTS }, () => new Map<TimelinePhase, number>());
  for (const { phase, from, to } of bars.flatMap(({ spans }) => spans)) {
    const [first, last] = [axis.position(from), axis.position(to)].map((x) => (x / 100) * SLOTS) as [number, number];
    for (let at = Math.floor(first); at < Math.min(SLOTS, Math.ceil(last)); at += 1) {
      const share = Math.min(last, at + 1) - Math.max(first, at);
      slots[at]!.set(phase, (slots[at]!.get(phase) ?? 0) + share);
    }
  }
  const busy = slots.map((slot) => [...slot.values()].reduce((sum, share) => sum + share, 0));
  const most = busy.reduce((max, one) => Math.max(max, one), 0);
  return slots.flatMap((slot, at): readonly Html[] => {
    const [phase] = [...slot].toSorted(([, a], [, b]) => b - a)[0] ?? [];
    if (phase === undefined) return [];
    const height = Math.max(1, Math.round((busy[at]! / most) * 16));
    const title = `${Math.max(1, Math.round(busy[at]!))} at once, mostly ${phases[phase]}`;
    return [
      html`<rect class="ph-${phase}" x="${round((at * 100) / SLOTS)}%" y="${17 - height}" width="${round(100 / SLOTS)}%" height="${height}"><title>${title}</title></rect>`,
    ];
  });
}

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
  if (bars.length === 0) return html`<p class="empty">Nothing has started.</p>`;
  const axis = axisOf(bars);
  const order = facts.steps.map(({ path }) => path);
  const isMany = new Set(bars.map(({ step }) => step)).size > MANY_STEPS;
  const isDense = bars.length > MOST_BARS;
  const rows = isDense ? denseRows(bars) : isMany ? packedRows(bars) : rowPerStep(bars, order);
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
${scale(axis)}${rows.map((row) => ganttRow(row, axis, isDense ? densityMarks(row.bars, axis) : row.bars.map((bar) => barMarks(bar, axis, failed))))}
</div>`;
}

function scale({ ticks, cuts }: Axis): Html {
  return html`<div class="row scale"><span></span><svg width="100%" height="18" class="lane">
${ticks.map(({ x, label }) => html`<text x="${round(x)}%" y="12" dx="3">${label}</text>`)}
${cuts.map(({ x, width, label }) => html`<rect class="cut" x="${round(x)}%" width="${round(width)}%" height="18"><title>${label} in which nothing was done</title></rect>`)}</svg><span></span></div>
`;
}

function ganttRow({ label, bars }: Row, axis: Axis, marks: Piece): Html {
  const workMs = bars.reduce((sum, { from, to }) => sum + to - from, 0);
  return html`<div class="row"><span class="label" title="${label}">${label}</span><svg width="100%" height="18" class="lane">
${axis.ticks.map(({ x }) => html`<line x1="${round(x)}%" x2="${round(x)}%" y1="0" y2="18" class="tick"/>`)}${axis.cuts.map(({ x, width }) => html`<rect class="cut" x="${round(x)}%" width="${round(width)}%" height="18"/>`)}
${marks}</svg><span class="duration">${label === "" ? "" : formatDuration(workMs)}</span></div>
`;
}

function barMarks(bar: Bar, axis: Axis, failed: ReadonlySet<string>): Html {
  const isFailed = failed.has(`${bar.step} ${bar.attempt}`);
  const marks = bar.spans.map(({ phase, from, to, isOpen }) => {
    const x = axis.position(from);
    const title = `${bar.step}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ""}: ${phases[phase]}, ${formatDuration(to - from)}${isOpen ? " so far" : ""}`;
    return html`<rect class="ph-${phase}" x="${round(x)}%" y="3" width="${round(Math.max(0.15, axis.position(to) - x))}%" height="12"><title>${title}</title></rect>`;
  });
  if (!isFailed) return html`${marks}`;
  const x = axis.position(bar.from);
  return html`${marks}<rect class="failed" x="${round(x)}%" y="2" width="${round(Math.max(0.3, axis.position(bar.to) - x))}%" height="14" rx="2"/>`;
}

function round(percent: number): number {
  return Math.round(percent * 1000) / 1000;
}
