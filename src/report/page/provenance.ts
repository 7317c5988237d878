import { traitsOf } from "../../index.ts";
import type { FinalFile, ReportFacts, StepFacts } from "../facts.ts";
import { instant, usdOr } from "./format.ts";
import { describe } from "./gallery.ts";
import { type Html, html } from "./html.ts";

/** Longer chains are cut in the middle of nowhere: the steps themselves say the rest. */
const MOST_ANCESTORS = 30;
/** Most that are counted. */
const MOST_COUNTED = 1000;

/** For each returned file: the bytes, the job that produced them, and everything that went into it. */
export function provenance(facts: ReportFacts, anchors: ReadonlyMap<string, string>): Html {
  if (facts.files.length === 0) return html`<p class="empty">No returned file yet.</p>`;
  const family = new Family(facts.steps);
  return html`${facts.files.map((file, at) => card(file, at, family, anchors))}`;
}

function card(file: FinalFile, at: number, family: Family, anchors: ReadonlyMap<string, string>): Html {
  const step = family.step(file.step);
  const attempt = step?.attempts.findLast(({ error }) => error === null);
  const output = step?.outputs.find(({ index }) => index === file.index);
  const before = family.ancestors(file.step);
  const least = before.length >= MOST_COUNTED ? "at least " : "";
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
        : html`${shown.length < before.length ? `${least}${before.length - shown.length} more, ` : ""}${shown.map((path, index) => html`${index > 0 ? ", " : ""}${link(path, anchors)}`)}`,
    ],
  ];
  return html`<article class="card" id="origin-${at}"><h3>${file.name}</h3><dl class="request">${rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></article>
`;
}

function link(step: string, anchors: ReadonlyMap<string, string>): Html {
  const anchor = anchors.get(step);
  return anchor === undefined ? html`${step}` : html`<a href="#${anchor}">${step}</a>`;
}

/** Who comes from whom, as planned. */
class Family {
  readonly #steps: ReadonlyMap<string, StepFacts>;
  readonly #order: ReadonlyMap<string, number>;
  readonly #inner: ReadonlyMap<string, readonly StepFacts[]>;

  constructor(steps: readonly StepFacts[]) {
    this.#steps = new Map(steps.map((step) => [step.path, step]));
    this.#order = new Map(steps.map(({ path }, at) => [path, at]));
    const expansions = steps.filter(({ plan }) => traitsOf(plan).expansion !== null);
    const inner = expansions.map(
      ({ path }) => [path, steps.filter((step) => step.path.startsWith(`${path}/`))] as const,
    );
    this.#inner = new Map(inner);
  }

  step(path: string): StepFacts | undefined {
    return this.#steps.get(path);
  }

  /** Steps that went into this one, the most direct ones, in plan order; of an expansion, what its value led to as well. */
  ancestors(path: string): readonly string[] {
    const found = new Set(this.#steps.get(path)?.plan.needs);
    for (const need of found) {
      if (found.size >= MOST_COUNTED) break;
      for (const further of this.#steps.get(need)?.plan.needs ?? []) found.add(further);
      for (const inner of this.#inner.get(need) ?? []) found.add(inner.path);
    }
    const known = [...found].filter((one) => this.#order.has(one));
    return known.sort((a, b) => this.#order.get(a)! - this.#order.get(b)!);
  }
}
