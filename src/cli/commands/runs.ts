import { decidedText } from "../../core/kit/decided-text.ts";
import { formatAgo, formatDuration, lateText, MINUTE_MS } from "../../core/kit/duration.ts";
import { dollars } from "../../core/kit/money.ts";
import { BATCH_TAG, listedTags, tagText, tagTexts } from "../../core/kit/tags.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { eventText, loadRun, type RunRow, runLine } from "../../core/view/index.ts";
import type { RunDocument, Showrunner, StoredEvent } from "../../index.ts";
import { ExitCode } from "../cli-error.ts";
import { type Context, withJournal } from "../context.ts";
import { tagsOf } from "../input/flag-values.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { refusedFiles, refusedText, reviewFiles } from "../report/offered-takes.ts";
import { missingLines, overchargeLines } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";
import { commandLine } from "../text/next-line.ts";
import { type Column, counted, shorten, table } from "../text/table.ts";
import { sharedWord, siteText } from "./follow.ts";

const MOST_WAITING = 10;
const MOST_COMMANDS = 3;

/** Maximum number of runs listed per batch, unless `--tag` is set. */
const MOST_ROWS = 20;

interface Listed {
  readonly row: RunRow;
  readonly isMember: boolean;
}

/** The first columns are never shortened, because the next command needs them. */
const runColumns = (now: number): readonly Column<Listed>[] => [
  { title: "run", value: ({ row, isMember }) => `${isMember ? "  " : ""}${visible(row.runId)}` },
  { title: "status", value: ({ row }) => row.status },
  { title: "started", value: ({ row }) => formatAgo(row.createdAt, now) },
  { title: "title", value: ({ row }) => visible(row.title ?? ""), flexible: true, optional: true },
  { title: "pipeline", value: ({ row }) => visible(row.pipeline), flexible: true, optional: true },
  {
    title: "tags",
    value: ({ row }) => visible(listedTags(tagTexts(row.tags)).join(" ")),
    flexible: true,
    optional: true,
  },
  { title: "last event", value: ({ row }) => formatAgo(row.updatedAt, now), optional: true },
];

export async function runs(context: Context, flags: Flags["runs"]): Promise<void> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const tags = tagsOf(flags.tag);
    const { search } = flags;
    const rows = await show.runs({ tags, search });
    output.printJson(
      rows.map((row) => ({ ...runLine(row), tags: row.tags, updated_at: new Date(row.updatedAt).toISOString() })),
    );
    if (rows.length > 0 && !output.isJson)
      output.tell(await listing(show, rows, { width: io.stdout.columns, all: tags !== undefined }));
    const wanted = [...(search === undefined ? [] : [JSON.stringify(search)]), ...(tags ? tagTexts(tags) : [])];
    if (rows.length === 0 && wanted.length > 0) output.say(`No runs with ${visible(wanted.join(" and "))}.`);
    else if (rows.length === 0) {
      output.say("No runs yet.");
      output.next("showrunner init film.ts");
    }
    if (!output.isJson) await sayWaiting(show, context, rows);
  });
}

async function listing(
  show: Showrunner,
  rows: readonly RunRow[],
  { width, all }: { readonly width: number | undefined; readonly all: boolean },
): Promise<string> {
  const groups = [...Map.groupBy(rows, ({ runId, tags }) => (tags[BATCH_TAG] === undefined ? runId : batchTag(tags)))];
  const listed: Listed[] = [];
  const between = new Map<number, string[]>();
  const say = (line: string) => between.set(listed.length, [...(between.get(listed.length) ?? []), line]);
  for (const [tag, members] of groups) {
    const isMember = members[0]!.tags[BATCH_TAG] !== undefined;
    if (isMember) say(await batchText(show, members[0]!));
    const shown = isMember && !all ? members.slice(0, MOST_ROWS) : members;
    listed.push(...shown.map((row) => ({ row, isMember })));
    if (shown.length < members.length)
      say(`  … and ${members.length - shown.length} more: showrunner runs --tag ${shellWord(tag)}`);
  }
  const titles = runColumns(Date.now());
  const filled = titles.filter(({ value }) => listed.some((one) => value(one) !== ""));
  const [head, ...lines] = table(listed, filled, width).split("\n");
  return [
    head,
    ...lines.flatMap((line, at) => [...(between.get(at) ?? []), line]),
    ...(between.get(lines.length) ?? []),
  ].join("\n");
}

function batchTag(tags: RunRow["tags"]): string {
  return tagText(BATCH_TAG, tags[BATCH_TAG]!);
}

async function batchText(show: Showrunner, { runId, account, pipeline, tags }: RunRow): Promise<string> {
  const [{ budget }, { spentMicros, heldMicros }, rows] = await Promise.all([
    show.show(runId),
    show.spending({ account, tag: batchTag(tags) }),
    show.runs({ tags: { [BATCH_TAG]: tags[BATCH_TAG]! } }),
  ]);
  const counts = Map.groupBy(rows, ({ status }) => status);
  const done = counts.get("succeeded")?.length ?? 0;
  counts.delete("succeeded");
  const others = [...counts].map(([status, { length }]) => `, ${length} ${status}`).join("");
  const held = heldMicros === 0 ? "" : `, ${dollars(heldMicros)} reserved`;
  const spent = `${dollars(spentMicros)}${budget === null ? "" : ` of ${dollars(budget)}`}${held}`;
  return `${counted(rows.length, "row")} of ${visible(pipeline)}: ${spent}, ${done} of ${rows.length} succeeded${others}`;
}

/** Returns whether a worker continues the run. If a wake is overdue, no worker does. */
function isWithWorker({ wakeAt }: RunRow): boolean {
  return wakeAt !== null && wakeAt > Date.now() - MINUTE_MS;
}

async function sayWaiting(show: Showrunner, { output }: Context, rows: readonly RunRow[]): Promise<void> {
  const stopped = rows.filter(({ status }) => status === "paused" || status === "interrupted");
  const waiting = stopped.filter((row) => !isWithWorker(row));
  if (waiting.length === 0) return;
  output.say(`\n${waiting.length === 1 ? "1 run waits" : `${waiting.length} runs wait`} for you:`);
  const decisions: string[] = [];
  const commands: string[] = [];
  for (const { runId } of waiting.slice(0, MOST_WAITING)) {
    const { status, pause, next } = await show.show(runId);
    output.say(`  ${visible(runId)}  ${pause === null ? status : `paused (${pause.reason})`}`);
    if (next !== null) (pause?.reason === "approval" ? decisions : commands).push(commandLine(next));
  }
  if (waiting.length > MOST_WAITING) output.say(`  … and ${waiting.length - MOST_WAITING} more`);
  const list = "showrunner approve   (lists all pending decisions; or open Review in showrunner dashboard)";
  output.next(...(decisions.length > MOST_COMMANDS ? [list] : decisions), ...commands);
}

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

async function refusedTexts(
  runner: Showrunner,
  context: Context,
  report: RunDocument,
  flags: ServiceFlags,
): Promise<readonly string[]> {
  if (report.refused.length === 0) return [];
  const [{ planned }, review] = await Promise.all([loadRun(runner.journal, report.id), reviewFiles(context, flags)]);
  const found = await refusedFiles(report.refused.slice(0, MOST_REFUSED), { plan: planned.plan, report, review });
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
