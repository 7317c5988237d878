import { traitsOf } from "../../index.ts";
import type { FinalFile, ReportFacts, StepFacts } from "../facts.ts";
import { instant, usdOr } from "./format.ts";
import { describe } from "./gallery.ts";
import { type Html, html } from "./html.ts";

/** Longer chains are cut in the middle of nowhere: the steps themselves say the rest. */
const MOST_ANCESTORS = 30;

/** For each returned file: the bytes, the job that made them, and everything that went into it. */
export function provenance(facts: ReportFacts, anchors: ReadonlyMap<string, string>): Html {
  if (facts.files.length === 0) return html`<p class="empty">No returned file yet.</p>`;
  const byPath = new Map(facts.steps.map((step) => [step.path, step]));
  return html`${facts.files.map((file, at) => card(file, at, byPath, anchors))}`;
}

function card(
  file: FinalFile,
  at: number,
  byPath: ReadonlyMap<string, StepFacts>,
  anchors: ReadonlyMap<string, string>,
): Html {
  const step = byPath.get(file.step);
  const attempt = step?.attempts.findLast(({ error }) => error === null);
  const output = step?.outputs.find(({ index }) => index === file.index);
  const before = ancestors(file.step, byPath);
  const shown = before.slice(-MOST_ANCESTORS);
  const rows: readonly (readonly [string, Html | string | null])[] = [
    ["File", html`<code>${file.file}</code> <span class="facts">${describe(file)}</span>`],
    ["SHA-256", file.sha256 === null ? null : html`<code class="breakable">${file.sha256}</code>`],
    ["Made by", html`${link(file.step, anchors)}${step?.model == null ? "" : ` on ${step.model}`}`],
    [
      "Job",
      attempt?.jobId == null
        ? null
        : html`<code>${attempt.jobId}</code>, attempt ${attempt.n}, ${usdOr(attempt.costMicros, "bill not yet known")}`,
    ],
    ["Asset", output?.assetId == null ? null : html`<code>${output.assetId}</code>`],
    ["Finished", attempt?.endedAt == null ? null : instant(attempt.endedAt)],
    [
      "Made from",
      shown.length === 0
        ? null
        : html`${shown.length < before.length ? `${before.length - shown.length} more, ` : ""}${shown.map((path, index) => html`${index > 0 ? ", " : ""}${link(path, anchors)}`)}`,
    ],
  ];
  return html`<article class="card" id="made-${at}"><h3>${file.name}</h3><dl class="asked">${rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></article>
`;
}

function link(step: string, anchors: ReadonlyMap<string, string>): Html {
  return html`<a href="#${anchors.get(step) ?? ""}">${step}</a>`;
}

/** Every step that went into this one, as planned; of an expansion, the steps that its value led to as well. */
function ancestors(step: string, byPath: ReadonlyMap<string, StepFacts>): readonly string[] {
  const found = new Set<string>();
  const queue = [...(byPath.get(step)?.plan.needs ?? [])];
  for (let need = queue.pop(); need !== undefined; need = queue.pop()) {
    if (found.has(need)) continue;
    found.add(need);
    queue.push(...(byPath.get(need)?.plan.needs ?? []));
    const source = byPath.get(need);
    if (source !== undefined && traitsOf(source.plan).maxInnerSteps !== null) {
      queue.push(...[...byPath.keys()].filter((path) => path.startsWith(`${need}/`)));
    }
  }
  return [...byPath.keys()].filter((path) => found.has(path));
}
