import { type AttemptView, formatDuration, outputStatus, traitsOf } from "../../index.ts";
import type { ReportFacts, StepFacts } from "../facts.ts";
import { type Condensed, MANY_STEPS } from "../groups.ts";
import { count, difference, instant, sumKnown, usdOr } from "./format.ts";
import { badge, type Html, html, type Piece, trusted } from "./html.ts";
import type { StepRequests } from "./requests.ts";

/** So few steps are opened from the start. */
const FEW_STEPS = 8;

/** The table of steps: model, cost against quote, and duration of each; of very many, a row for those that are alike. */
export function stepTable(facts: ReportFacts, { members }: Condensed, anchors: ReadonlyMap<string, string>): Html {
  const isWhole = facts.detailed.length === facts.steps.length;
  const each = table(
    facts.detailed.map((step) => row(html`<a href="#${anchors.get(step.path) ?? ""}">${step.path}</a>`, [step])),
  );
  if (facts.steps.length <= MANY_STEPS) return each;
  const steps = new Map(facts.steps.map((step) => [step.path, step]));
  const alike = () =>
    [...members].map(([name, paths]) =>
      row(
        html`${name}`,
        paths.flatMap((path) => steps.get(path) ?? []),
      ),
    );
  return html`${isWhole ? null : table(alike())}${listOf(facts, each)}`;
}

/** What is told of every step, to be opened. */
function listOf({ steps, detailed }: ReportFacts, list: Piece): Html {
  const isWhole = detailed.length === steps.length;
  const title = isWhole
    ? `All ${count(steps.length, "step")}`
    : `${count(detailed.length, "step")} of ${count(steps.length, "step")}: failed ones, those that produced the files, and the first others`;
  return html`<details class="many"><summary>${title}</summary>${list}</details>`;
}

function table(rows: readonly Html[]): Html {
  return html`<div class="scroll" role="region" aria-label="Steps and their costs" tabindex="0"><table>
<thead><tr><th scope="col">Step</th><th scope="col">Status</th><th scope="col">Model</th><th scope="col" class="n">Jobs</th><th scope="col" class="n">Quoted</th><th scope="col" class="n">Paid</th><th scope="col" class="n">Difference</th><th scope="col" class="n">Time</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** One step, or several that are alike and counted together. */
function row(name: Html, steps: readonly StepFacts[]): Html {
  const [first] = steps;
  const statuses = [...Map.groupBy(steps, ({ status }) => status)].map(([status, { length }]) => {
    return html`${badge(status)}${steps.length === 1 ? null : ` ${length.toLocaleString("en")} `}`;
  });
  const jobs = steps.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const quoted = sumKnown(steps.map(({ quote }) => quote?.costMicros ?? null));
  const paid = sumKnown(steps.map(({ costMicros }) => costMicros));
  const workTime = sumKnown(
    steps.map(({ startedAt, finishedAt }) =>
      startedAt === null || finishedAt === null ? null : finishedAt - startedAt,
    ),
  );
  return html`<tr><th scope="row">${name}</th><td>${statuses}</td><td>${first === undefined ? "–" : (first.model ?? traitsOf(first.plan).noun)}</td><td class="n">${jobs || "–"}</td><td class="n">${usdOr(quoted)}</td><td class="n">${usdOr(paid)}</td><td class="n">${difference(paid, quoted)}</td><td class="n">${workTime === null ? "–" : formatDuration(workTime)}</td></tr>
`;
}

/** Each step with its request, its jobs and its outputs. */
export function stepDetails(facts: ReportFacts, anchors: ReadonlyMap<string, string>, requested: StepRequests): Html {
  const files = new Map(facts.files.map(({ step, index, file }) => [`${step} ${index}`, file]));
  const isOpen = facts.steps.length <= FEW_STEPS;
  const each = facts.detailed.map((step) =>
    detail(step, { anchor: anchors.get(step.path) ?? "", requested, isOpen, files }),
  );
  return facts.steps.length <= MANY_STEPS ? html`${each}` : listOf(facts, each);
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
