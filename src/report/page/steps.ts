import { formatDuration, type PlanStep } from "../../index.ts";
import type { Attempt } from "../attempts.ts";
import type { ReportFacts, StepFacts } from "../facts.ts";
import { MANY_STEPS } from "../groups.ts";
import type { Asked } from "./asked.ts";
import { badge, type Html, html, trusted } from "./html.ts";
import { count, difference, instant, usdOr } from "./words.ts";

/** So few steps are opened from the start. */
const FEW_STEPS = 8;

/** The table of steps: what each asked of whom, what it cost against its quote, how long it took. */
export function stepTable(facts: ReportFacts, anchors: ReadonlyMap<string, string>): Html {
  const rows = facts.steps.map(
    (
      step,
    ) => html`<tr><th scope="row"><a href="#${anchors.get(step.path) ?? ""}">${step.path}</a></th><td>${badge(step.status)}</td><td>${step.model ?? step.kind}</td><td class="n">${step.attempts.length || "–"}</td><td class="n">${usdOr(step.quoteMicros)}</td><td class="n">${usdOr(step.costMicros)}</td><td class="n">${difference(step.costMicros, step.quoteMicros)}</td><td class="n">${took(step)}</td></tr>
`,
  );
  const table = html`<div class="scroll" role="region" aria-label="Steps and their costs" tabindex="0"><table>
<thead><tr><th scope="col">Step</th><th scope="col">Status</th><th scope="col">Model</th><th scope="col" class="n">Jobs</th><th scope="col" class="n">Quoted</th><th scope="col" class="n">Paid</th><th scope="col" class="n">Difference</th><th scope="col" class="n">Time</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
  if (facts.steps.length <= MANY_STEPS) return table;
  return html`<details class="many"><summary>All ${count(facts.steps.length, "step")}</summary>${table}</details>`;
}

/** Each step with what it asked for, its jobs and its outputs. */
export function stepDetails(facts: ReportFacts, anchors: ReadonlyMap<string, string>, asked: Asked): Html {
  const planned = new Map(facts.plan.steps.map((step) => [step.path, step]));
  const isOpen = facts.steps.length <= FEW_STEPS;
  const each = facts.steps.map((step) =>
    detail(step, planned.get(step.path), { anchor: anchors.get(step.path) ?? "", asked, isOpen }),
  );
  if (facts.steps.length <= MANY_STEPS) return html`${each}`;
  return html`<details class="many"><summary>All ${count(facts.steps.length, "step")}</summary>${each}</details>`;
}

interface Place {
  readonly anchor: string;
  readonly asked: Asked;
  readonly isOpen: boolean;
}

function detail(step: StepFacts, plan: PlanStep | undefined, { anchor, asked, isOpen }: Place): Html {
  return html`<details class="step" id="${anchor}"${isOpen && trusted(" open")}><summary><strong>${step.path}</strong> ${badge(step.status)} <span class="facts">${step.model ?? step.kind}${step.costMicros === null ? "" : ` · ${usdOr(step.costMicros)}`}</span></summary>
<div class="inside">${step.reason === null ? null : html`<p class="reason">${step.reason}</p>`}
${plan === undefined ? null : html`<h3>Asked for</h3>${asked.step(plan)}`}
${step.attempts.length === 0 ? null : html`<h3>${step.kind === "job" ? "Jobs" : "Requests"}</h3><ul class="list">${step.attempts.map((attempt) => attemptLine(attempt, step.kind))}</ul>`}
${step.outputs.length === 0 ? null : html`<h3>Outputs</h3><ul class="list">${step.outputs.map(outputLine)}</ul>`}
${step.value === null ? null : html`<h3>Yielded</h3>${asked.value(step.value)}`}
${step.chosen === null ? null : html`<p>Stands for output ${step.chosen.index} of <strong>${step.chosen.step}</strong>.</p>`}
${step.reusedFrom === null ? null : html`<p>Taken over from <strong>${step.reusedFrom.step}</strong> of run <code>${step.reusedFrom.run}</code>, free of charge.</p>`}</div></details>
`;
}

function attemptLine(attempt: Attempt, kind: string): Html {
  const when = attempt.intendedAt === null ? "" : `sent ${instant(attempt.intendedAt)}`;
  const job = kind === "job" ? html`<code>${attempt.jobId ?? "no job known"}</code>, ` : null;
  const error =
    attempt.error === null
      ? null
      : html` <span class="bad-text">${attempt.error.code}: ${attempt.error.message}</span>`;
  return html`<li>Attempt ${attempt.n}: ${job}${when}, quoted ${usdOr(attempt.quoteMicros, "without a price")}${attempt.basis === "provisional" ? " (provisionally)" : ""}, paid ${usdOr(attempt.costMicros, "not yet known")}${error}</li>`;
}

function outputLine(output: StepFacts["outputs"][number]): Html {
  const facts = [
    output.content_type,
    output.width === null ? null : `${output.width} × ${output.height}`,
    output.duration_ms === null ? null : formatDuration(output.duration_ms),
    output.file,
  ].filter((fact) => fact !== null);
  const id = output.voice_id ?? output.asset_id;
  return html`<li>${output.index}: ${output.status.toLowerCase()}${id === null ? null : html` <code>${id}</code>`} ${facts.join(" · ")}</li>`;
}

function took({ startedAt, finishedAt }: StepFacts): string {
  return startedAt === null || finishedAt === null ? "–" : formatDuration(finishedAt - startedAt);
}
