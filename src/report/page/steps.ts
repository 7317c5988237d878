import { type AttemptView, formatDuration, outputStatus, traitsOf } from "../../index.ts";
import type { ReportFacts, StepFacts } from "../facts.ts";
import { MANY_STEPS } from "../groups.ts";
import { count, difference, instant, usdOr } from "./format.ts";
import { badge, type Html, html, trusted } from "./html.ts";
import type { StepRequests } from "./requests.ts";

/** So few steps are opened from the start. */
const FEW_STEPS = 8;

/** The table of steps: model, cost against quote, and duration of each. */
export function stepTable(facts: ReportFacts, anchors: ReadonlyMap<string, string>): Html {
  const rows = facts.steps.map(
    (
      step,
    ) => html`<tr><th scope="row"><a href="#${anchors.get(step.path) ?? ""}">${step.path}</a></th><td>${badge(step.status)}</td><td>${step.model ?? traitsOf(step.plan).noun}</td><td class="n">${step.attempts.length || "–"}</td><td class="n">${usdOr(quoteOf(step))}</td><td class="n">${usdOr(step.costMicros)}</td><td class="n">${difference(step.costMicros, quoteOf(step))}</td><td class="n">${took(step)}</td></tr>
`,
  );
  const table = html`<div class="scroll" role="region" aria-label="Steps and their costs" tabindex="0"><table>
<thead><tr><th scope="col">Step</th><th scope="col">Status</th><th scope="col">Model</th><th scope="col" class="n">Jobs</th><th scope="col" class="n">Quoted</th><th scope="col" class="n">Paid</th><th scope="col" class="n">Difference</th><th scope="col" class="n">Time</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
  if (facts.steps.length <= MANY_STEPS) return table;
  return html`<details class="many"><summary>All ${count(facts.steps.length, "step")}</summary>${table}</details>`;
}

/** Each step with its request, its jobs and its outputs. */
export function stepDetails(facts: ReportFacts, anchors: ReadonlyMap<string, string>, requested: StepRequests): Html {
  const files = new Map(facts.files.map(({ step, index, file }) => [`${step} ${index}`, file]));
  const isOpen = facts.steps.length <= FEW_STEPS;
  const each = facts.steps.map((step) =>
    detail(step, { anchor: anchors.get(step.path) ?? "", requested, isOpen, files }),
  );
  if (facts.steps.length <= MANY_STEPS) return html`${each}`;
  return html`<details class="many"><summary>All ${count(facts.steps.length, "step")}</summary>${each}</details>`;
}

interface Place {
  readonly anchor: string;
  readonly requested: StepRequests;
  readonly isOpen: boolean;
  /** By step and index. */
  readonly files: ReadonlyMap<string, string>;
}

function detail(step: StepFacts, { anchor, requested, isOpen, files }: Place): Html {
  return html`<details class="step" id="${anchor}"${isOpen && trusted(" open")}><summary><strong>${step.path}</strong> ${badge(step.status)} <span class="facts">${step.model ?? traitsOf(step.plan).noun}${step.costMicros === null ? "" : ` · ${usdOr(step.costMicros)}`}</span></summary>
<div class="inside">${step.reason === null ? null : html`<p class="reason">${step.reason}</p>`}
<h3>Asked for</h3>${requested.step(step.plan)}
${step.attempts.length === 0 ? null : html`<h3>${step.attempts.some(({ kind }) => kind === "job") ? "Jobs" : "Requests"}</h3><ul class="list">${step.attempts.map(attemptLine)}</ul>`}
${step.outputs.length === 0 ? null : html`<h3>Outputs</h3><ul class="list">${step.outputs.map((output) => outputLine(step, output, files.get(`${step.path} ${output.index}`) ?? null))}</ul>`}
${step.value === null ? null : html`<h3>Yielded</h3>${requested.value(step.value)}`}
${step.chosen === null ? null : html`<p>Is output ${step.chosen.index} of <strong>${step.chosen.step}</strong>.</p>`}
${step.reusedFrom === null ? null : html`<p>Reused from <strong>${step.reusedFrom.step}</strong> of run <code>${step.reusedFrom.runId}</code>, at no cost.</p>`}</div></details>
`;
}

function attemptLine(attempt: AttemptView): Html {
  const { kind, n, jobId, sentAt, quote, holdMicros, costMicros, error } = attempt;
  const job = kind === "job" ? html`<code>${jobId ?? "no job known"}</code>, ` : null;
  const problem = error === null ? null : html` <span class="bad-text">${error.code}: ${error.message}</span>`;
  const quoted = kind === "chat" ? holdMicros : (quote?.costMicros ?? null);
  return html`<li>Attempt ${n}: ${job}sent ${instant(sentAt!)}, quoted ${usdOr(quoted, "without a price")}${quote?.basis === "provisional" ? " (provisionally)" : ""}, paid ${usdOr(costMicros, "not yet known")}${problem}</li>`;
}

function outputLine(step: StepFacts, output: StepFacts["outputs"][number], file: string | null): Html {
  const facts = [
    output.contentType,
    output.width === null ? null : `${output.width} × ${output.height}`,
    output.durationMs === null ? null : formatDuration(output.durationMs),
    file,
  ].filter((fact) => fact !== null);
  const id = output.voiceId ?? output.assetId;
  return html`<li>${output.index}: ${outputStatus(step, output).toLowerCase()}${id === null ? null : html` <code>${id}</code>`} ${facts.join(" · ")}</li>`;
}

function quoteOf({ quote }: StepFacts): number | null {
  return quote?.costMicros ?? null;
}

function took({ startedAt, finishedAt }: StepFacts): string {
  return startedAt === null || finishedAt === null ? "–" : formatDuration(finishedAt - startedAt);
}
