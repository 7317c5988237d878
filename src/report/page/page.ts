import { hash } from "node:crypto";
import { type PlanStep, planSvg, traitsOf } from "../../index.ts";
import type { ReportFacts } from "../facts.ts";
import { type Condensed, condense, MANY_STEPS, withExpansions } from "../groups.ts";
import { count, instant, usd } from "./format.ts";
import { gallery, intermediateOutputs, type MediaLocations } from "./gallery.ts";
import { costsByModel, header, incidents } from "./header.ts";
import { type Html, html, type Piece, toneOf, trusted } from "./html.ts";
import { provenance } from "./provenance.ts";
import { StepRequests } from "./requests.ts";
import { stepDetails, stepTable } from "./steps.ts";
import { STYLE } from "./style.ts";
import { timeline } from "./timeline.ts";

/** Pixels; a picture up to so wide is made smaller to fit, a wider one is scrolled. */
const WIDEST_SHRUNK = 1_450;

/** The plan as a picture, coloured by what became of each step; many like steps are drawn as one. */
function diagram(facts: ReportFacts, { plan, members }: Condensed): Html {
  if (facts.plan.steps.length === 0) return html`<p class="empty">The plan has no steps.</p>`;
  const byPath = new Map(facts.steps.map((step) => [step.path, step]));
  const of = ({ path }: PlanStep) => (members.get(path) ?? [path]).flatMap((one) => byPath.get(one) ?? []);
  const svg = planSvg(plan, {
    unstyled: true,
    classOf: (step) => worstTone(of(step).map(({ status }) => status)),
    note: (step) => {
      const cost = of(step).reduce((sum, { costMicros }) => sum + (costMicros ?? 0), 0);
      const what = traitsOf(step).note;
      return cost === 0 ? what : `${usd(cost)} · ${what}`;
    },
  });
  const isWide = Number(/ width="(\d+)"/.exec(svg)?.[1] ?? 0) > WIDEST_SHRUNK;
  const kinds =
    members.size > 0
      ? html`<p class="hint">${count(facts.plan.steps.length, "step")}; those that are alike are drawn as one.</p>`
      : null;
  return html`${kinds}<div class="scroll diagram${isWide ? "" : " fit"}" role="region" aria-label="Steps and what they use" tabindex="0">${trusted(svg)}</div>`;
}

const order = ["bad", "warn", "live", "idle", "good"];

function worstTone(statuses: readonly string[]): string {
  const tones = statuses.map(toneOf);
  return `is-${order.find((tone) => tones.includes(tone)) ?? "idle"}`;
}

/**
 * The report as one HTML document: no script, nothing from the network, and nothing that a prompt could add to it.
 * `writtenAt` is epoch milliseconds.
 */
export function reportPage(
  facts: ReportFacts,
  media: MediaLocations,
  options: { readonly writtenAt: number; readonly version: string },
): string {
  const anchors = new Map(facts.detailed.map(({ path }, at) => [path, `step-${at}`]));
  const whole = withExpansions(facts.plan);
  const condensed = facts.plan.steps.length > MANY_STEPS ? condense(whole) : { plan: whole, members: new Map() };
  const requested = new StepRequests(anchors);
  const { report } = facts;
  const sections: readonly Section[] = [
    { id: "files", title: "Results", content: html`${gallery(facts, media)}${intermediateOutputs(facts, media)}` },
    { id: "plan", title: "How it was planned", content: diagram(facts, condensed) },
    { id: "timeline", title: "When it was done", content: timeline(facts) },
    {
      id: "costs",
      title: "What it cost",
      content: html`${costsByModel(facts)}<h3>Step by step</h3>${stepTable(facts, condensed, anchors)}`,
    },
    { id: "incidents", title: "Incidents", content: incidents(facts) },
    { id: "provenance", title: "Where each file comes from", content: provenance(facts, anchors) },
    { id: "steps", title: "Requests by step", content: stepDetails(facts, anchors, requested) },
    { id: "input", title: "What the run was given", content: requested.value(facts.input) },
  ];
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(media)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Showrunner ${options.version}">
<title>${report.pipeline} · ${report.status} · ${report.id}</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
${header(facts)}
${contents(sections)}
<main>
${sections.map(({ id, title, content }) => section(id, title, content))}
</main>
<footer>
<p>Written by Showrunner ${options.version} on ${instant(options.writtenAt)} from ${count(facts.events, "event")} of the journal. Service: ${facts.service}.${facts.source === null ? "" : ` Pipeline: ${facts.source}.`}</p>
<p>Files of the run: ${report.out_dir}</p>
</footer>
</body>
</html>
`;
  return page.text;
}

interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: Piece;
}

function contents(sections: readonly Section[]): Html {
  const links = sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  return html`<nav class="contents" aria-label="Contents"><ol>${links}</ol></nav>`;
}

function section(id: string, title: string, content: Piece): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${content}
</section>
`;
}

/** Media from the page itself, or from beside it; one style, known by its hash; and nothing else at all. */
function policy(media: MediaLocations): string {
  const isBeside = [...media.values()].some(({ type }) => type === "beside");
  const sources = isBeside ? "data: 'self' file:" : "data:";
  const style = hash("sha256", STYLE, "base64");
  return `default-src 'none'; style-src 'sha256-${style}'; img-src ${sources}; media-src ${sources}; base-uri 'none'; form-action 'none'`;
}
