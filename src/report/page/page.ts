import { hash } from "node:crypto";
import type { ReportFacts } from "../facts.ts";
import { Asked } from "./asked.ts";
import { costsByModel } from "./costs.ts";
import { diagram } from "./diagram.ts";
import { gallery, type MediaPlaces, onTheWay } from "./gallery.ts";
import { header } from "./header.ts";
import { type Html, html, type Piece, trusted } from "./html.ts";
import { incidents } from "./incidents.ts";
import { provenance } from "./provenance.ts";
import { stepDetails, stepTable } from "./steps.ts";
import { STYLE } from "./style.ts";
import { timeline } from "./timeline.ts";
import { count, instant } from "./words.ts";

/**
 * The report as one HTML document: no script, nothing from the network, and nothing that a prompt could add to it.
 * `writtenAt` is epoch milliseconds.
 */
export function reportPage(
  facts: ReportFacts,
  media: MediaPlaces,
  options: { readonly writtenAt: number; readonly version: string },
): string {
  const anchors = new Map(facts.steps.map(({ path }, at) => [path, `step-${at}`]));
  const asked = new Asked(anchors);
  const { report } = facts;
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
<main>
${section("files", "What it made", html`${gallery(facts, media)}${onTheWay(facts, media)}`)}
${section("plan", "How it was planned", diagram(facts))}
${section("timeline", "When it was done", timeline(facts))}
${section("costs", "What it cost", html`${costsByModel(facts)}<h3>Step by step</h3>${stepTable(facts, anchors)}`)}
${section("incidents", "What did not go straight", incidents(facts))}
${section("provenance", "Where each file comes from", provenance(facts, anchors))}
${section("steps", "What each step asked for", stepDetails(facts, anchors, asked))}
${section("input", "What the run was given", asked.value(facts.input))}
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

function section(id: string, title: string, content: Piece): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${content}
</section>
`;
}

/** Media from the page itself, or from beside it; one style, known by its hash; and nothing else at all. */
function policy(media: MediaPlaces): string {
  const isBeside = [...media.values()].some(({ type }) => type === "beside");
  const sources = isBeside ? "data: 'self' file:" : "data:";
  const style = hash("sha256", STYLE, "base64");
  return `default-src 'none'; style-src 'sha256-${style}'; img-src ${sources}; media-src ${sources}; base-uri 'none'; form-action 'none'`;
}
