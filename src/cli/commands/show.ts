import { formatDuration, lateText } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { decidedText } from "../../core/kit/value-text.ts";
import { eventText } from "../../core/view/index.ts";
import type { RunDocument, Showrunner, StoredEvent } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withJournal } from "../context.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { aboutRun, refusedFiles, refusedText } from "../report/offered-takes.ts";
import { missingLines, overchargeLines } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";
import { commandLine } from "../text/next-line.ts";
import { type Column, shorten, table } from "../text/table.ts";
import { sharedWord, siteText } from "./follow.ts";

const LONGEST_VALUE = 60;

type Step = RunDocument["steps"][number];

const stepColumns: readonly Column<Step>[] = [
  { title: "step", value: (step) => visible(step.path), flexible: true },
  { title: "status", value: status },
  { title: "job", value: (step) => visible(step.attempts.at(-1)?.job_id ?? "–"), optional: true },
  { title: "cost", value: cost, align: "money" },
  { title: "time", value: time, align: "right" },
  { title: "result", value: result, flexible: true },
];

function status({ status: said, approval }: Step): string {
  if (said !== "awaiting-approval") return said;
  return approval === null ? "waiting for you" : "decided";
}

function cost(step: Step): string {
  const costs = step.attempts.flatMap(({ cost, unconfirmed }) =>
    cost === null ? [] : [`${dollars(cost)}${unconfirmed === true ? " (not confirmed)" : ""}`],
  );
  return costs.length > 0 ? costs.join(" + ") : "–";
}

function time(step: Step): string {
  if (step.started_at === null || step.finished_at === null) return "–";
  return formatDuration(Date.parse(step.finished_at) - Date.parse(step.started_at));
}

function result(step: Step): string {
  const outputs = step.outputs.map((output) => output.file ?? output.voice_id ?? output.asset_id ?? output.status);
  if (outputs.length > 0) return visible(outputs.join(", "));
  if (step.reason !== null) return visible(step.reason);
  if (step.approval !== null && step.value !== null) return `changed: ${valueText(step)}`;
  if (step.chosen !== null) return `output ${step.chosen.index} of ${visible(step.chosen.step)}`;
  if (step.approval !== null) return visible(decisionText(step.approval));
  return step.value === null ? "" : valueText(step);
}

function valueText({ value }: Step): string {
  return shorten(visible(JSON.stringify(value)), LONGEST_VALUE);
}

export function decisionText({ note, ...decided }: NonNullable<Step["approval"]>): string {
  return `${decidedText(decided)}${note === null ? "" : `: ${note}`}`;
}

export function stepTable(report: RunDocument, width?: number): string {
  return table(report.steps, stepColumns, width);
}

function lateSince({ since, expected_ms, learned, within_ms, job_id }: NonNullable<Step["late"]>): string {
  const expected = expected_ms === null ? null : { ms: expected_ms, isLearned: learned };
  return lateText({ since: Date.parse(since), expected, withinMs: within_ms, jobId: job_id }, Date.now());
}

const MOST_REFUSED = 20;

async function refusedTexts(runner: Showrunner, context: Context, report: RunDocument, flags: ServiceFlags) {
  if (report.refused.length === 0) return [];
  const about = await aboutRun(runner, context, report.id, flags);
  const found = await refusedFiles(report.refused.slice(0, MOST_REFUSED), about);
  return ["", ...found.map(refusedText)];
}

export async function show(context: Context, runId: string, flags: ServiceFlags): Promise<void> {
  const { io, output } = context;
  return withJournal(flags, async (runner) => {
    const report = await runner.show(runId);
    if (output.isJson) return output.printJson(report);
    const again =
      report.rerun_quote !== null && Number(report.rerun_quote) > 0
        ? ` and ${dollars(report.rerun_quote)} for reruns`
        : "";
    const quoted = report.quote === null ? "" : `, quoted ${dollars(report.quote)}${again}`;
    const budget = report.budget === null ? "" : `, ${sharedWord(report)}budget ${dollars(report.budget)}`;
    const title = report.title === null ? "" : `"${visible(report.title)}"  `;
    const held = Number(report.held) > 0 ? `, ${dollars(report.held)} reserved` : "";
    const unconfirmed = Number(report.unconfirmed) > 0 ? `, ${dollars(report.unconfirmed)} not confirmed` : "";
    const status = report.pause === null ? report.status : `${report.status} (${report.pause.reason})`;
    output.print(
      `${visible(report.id)}  ${title}${visible(report.pipeline)}  ${status}  cost ${dollars(report.cost)}${held}${unconfirmed}${quoted}${budget}`,
    );
    if (report.pause !== null && report.message !== null) output.tell(visible(report.message));
    for (const line of overchargeLines(report)) output.tell(line);
    for (const line of missingLines(report, Date.now())) output.print(line);
    output.print("");
    output.tell(stepTable(report, io.stdout.columns));
    for (const { path, late } of report.steps) {
      if (late !== null) output.print(`${visible(path)} ${visible(lateSince(late))}`);
    }
    for (const step of report.steps) {
      const site = siteText(step);
      if (site !== "") output.print(`${visible(step.path)} failed${site}`);
    }
    for (const text of await refusedTexts(runner, context, report, flags)) output.print(text);
    if (report.next !== null) output.next(commandLine(report.next));
  });
}

export async function events(context: Context, runId: string, flags: Flags["events"]): Promise<ExitCode> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const stored = show.events(runId, { follow: flags.follow === true, signal: io.interrupt });
    if (output.isJson && !flags.follow) {
      const all: StoredEvent[] = [];
      for await (const event of stored) all.push(event);
      output.printJson(all);
      return ExitCode.done;
    }
    for await (const event of stored) {
      output.printJsonLine(event);
      output.tell(line(event));
    }
    return io.interrupt.aborted ? ExitCode.interrupted : ExitCode.done;
  });
}

function line({ seq, at, event }: StoredEvent): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const parts = ["step" in event ? event.step : null, eventText(event)].filter((part) => part !== null);
  return `${String(seq).padStart(5)}  ${time}  ${event.type.padEnd(22)}  ${visible(parts.join(": "))}`.trimEnd();
}
