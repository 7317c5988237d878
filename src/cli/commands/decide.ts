import { toDocument } from "../../core/kit/document.ts";
import { formatDuration } from "../../core/kit/duration.ts";
import { suggest } from "../../core/kit/lookup.ts";
import { dollars } from "../../core/kit/money.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { traitsOf } from "../../core/plan/index.ts";
import type { ComparedPart, WaitingDecision } from "../../core/view/index.ts";
import type { RunDocument, Showrunner } from "../../index.ts";
import { ExitCode, usageError } from "../cli-error.ts";
import { type Context, withJournal, withShowrunner } from "../context.ts";
import { readTextOrFile } from "../input/read-input.ts";
import type { Flags } from "../program/flags.ts";
import {
  aboutRun,
  type OfferedTake,
  offeredTakes,
  refusedFiles,
  refusedText,
  resultsOf,
} from "../report/offered-takes.ts";
import { visible, visibleLines } from "../text/escape.ts";
import { type Column, counted, table } from "../text/table.ts";
import { continueRun } from "./resume.ts";
import { decisionText } from "./show.ts";

export async function approve(
  context: Context,
  runId: string | undefined,
  named: string | undefined,
  flags: Flags["approve"],
): Promise<ExitCode> {
  if (runId === undefined) return listAll(context, flags);
  return withShowrunner(flags, async (show) => {
    const step = named ?? (await onlyStep(show, runId, flags));
    if (step === null) return list(show, context, runId, flags);
    const pick = await picked(show, context, { runId, step }, flags);
    const position = pick === null ? {} : { pick: pick - 1 };
    const value = flags.value === undefined ? undefined : await readTextOrFile("--value", flags.value, context.io);
    await show.approve(runId, step, { ...position, note: flags.note, value });
    return decided(show, context, { runId, step, approved: true, pick }, flags);
  });
}

const queue: readonly Column<WaitingDecision>[] = [
  { title: "run", value: ({ runId }) => visible(runId), flexible: true },
  { title: "title", value: ({ title }) => visible(title ?? ""), flexible: true },
  { title: "step", value: ({ step }) => visible(step) },
  {
    title: "asks",
    value: ({ message, takes }) => visible(message ?? "") || (takes === null ? "" : `one of ${takes}`),
    flexible: true,
  },
  { title: "waits for", value: ({ since }) => formatDuration(Math.max(0, Date.now() - since)), align: "right" },
];

async function listAll({ output, io }: Context, flags: Flags["approve"]): Promise<ExitCode> {
  if ([flags.pick, flags.value, flags.note, flags.resume].some((flag) => flag !== undefined)) {
    throw usageError("a decision needs a run id", "showrunner approve");
  }
  return withJournal(flags, async (show) => {
    const waiting = await show.waiting();
    const [first] = waiting;
    const shown = queue.filter(({ value }) => waiting.some((one) => value(one) !== ""));
    output.printJson(toDocument(waiting));
    if (first === undefined) output.say("No step is waiting for a decision.");
    else {
      output.tell(table(waiting, shown, io.stdout.columns));
      output.next(`showrunner approve ${visible(first.runId)}   (lists the waiting steps and the results to review)`);
    }
    return ExitCode.done;
  });
}

/**
 * Returns the step that the flags decide on, which must be the run's only waiting step. Returns null if the flags
 * contain no decision.
 */
async function onlyStep(
  show: Showrunner,
  runId: string,
  { pick, value, note }: Flags["approve"],
): Promise<string | null> {
  if ([pick, value, note].every((flag) => flag === undefined)) return null;
  const { steps } = await show.show(runId);
  const waiting = steps.filter(({ status }) => status === "awaiting-approval");
  if (waiting.length === 1) return waiting[0]!.path;
  throw usageError(
    `${waiting.length} steps are waiting for a decision; specify one`,
    `showrunner approve ${visible(runId)}   (lists the waiting steps and their results to review)`,
  );
}

export async function reject(
  context: Context,
  runId: string,
  step: string,
  flags: Flags["approve"],
): Promise<ExitCode> {
  return withShowrunner(flags, async (show) => {
    await show.reject(runId, step, { note: flags.note });
    return decided(show, context, { runId, step, approved: false, pick: null }, flags);
  });
}

interface Decision {
  readonly runId: string;
  readonly step: string;
  readonly approved: boolean;
  readonly pick: number | null;
}

async function decided(
  show: Showrunner,
  context: Context,
  decision: Decision,
  flags: Flags["approve"],
): Promise<ExitCode> {
  const { output } = context;
  const { runId, step, approved, pick } = decision;
  const { status } = await show.show(runId);
  const isParked = status === "paused" || status === "interrupted";
  output.say(
    `Recorded: ${visible(step)} ${approved ? "approved" : "rejected"}${pick === null ? "" : `, number ${pick} picked`}.`,
  );
  if (flags.resume && isParked) return continueRun(show, context, runId);
  output.printJson({ id: runId, step, approved, pick, note: flags.note ?? null, status });
  if (isParked) {
    output.say("No process is driving the run, so the decision takes effect when the run is resumed.");
    output.next(`showrunner resume ${visible(runId)}`);
  } else {
    output.say("The process that is executing the run applies the decision immediately.");
    output.next(`showrunner events ${visible(runId)} --follow`);
  }
  return ExitCode.done;
}

async function waitingIn(show: Showrunner, context: Context, runId: string, flags: Flags["approve"]) {
  const about = await aboutRun(show, context, runId, flags);
  const { report, run } = about;
  const open = new Map(
    report.steps.flatMap((step) => (step.status === "awaiting-approval" ? [[step.path, step] as const] : [])),
  );
  const decisions = run.state.planned.plan.steps.flatMap((step) => traitsOf(step).decision ?? []);
  return Promise.all(
    decisions
      .filter(({ path }) => open.has(path))
      .map(async (decision) => {
        const { path: step, message, choose } = decision;
        const shows = await offeredTakes(decision, about);
        const refused = await refusedFiles(run.refused(step), about);
        const { approval: decided } = open.get(step)!;
        return { step, message, choose, shows, compared: run.compared(decision), refused, decided };
      }),
  );
}

async function list(show: Showrunner, context: Context, runId: string, flags: Flags["approve"]): Promise<ExitCode> {
  const { io, output } = context;
  const waiting = await waitingIn(show, context, runId, flags);
  output.printJson(waiting.map((one) => ({ ...one, compared: toDocument(one.compared) })));
  for (const { step, message, choose, shows, compared, refused, decided } of waiting) {
    output.say(`${output.paint(["bold", "yellow"], visible(step))}${message === null ? "" : `: ${visible(message)}`}`);
    if (shows.length > 0) output.print(table(shows, columns, io.stdout.columns));
    if (compared !== null) output.print(table(compared, comparison, io.stdout.columns));
    for (const { text, pick } of shows) if (text !== null) output.print(quoted(text, choose ? pick : null));
    for (const one of refused) output.print(refusedText(one));
    if (decided !== null)
      output.say(
        `Decided: ${visible(decisionText(decided))}. The decision takes effect when the run is resumed, and can be changed until then.`,
      );
    const at = `${runId} ${shellWord(step)}`;
    const some = choose && shows.length > 1 ? `   (or another number up to ${shows.length})` : "";
    output.next(
      `showrunner approve ${at}${choose ? " --pick 1" : ""} --resume${some}`,
      `showrunner reject ${at} --resume   (add --note REASON to store a reason)`,
      `showrunner open ${at}   (opens the files that the step shows)`,
    );
  }
  if (waiting.length > 0) output.say("To view and play the files: showrunner dashboard");
  else {
    output.say(`Run ${visible(runId)} has no step waiting for a decision.`);
    output.next(`showrunner show ${visible(runId)}`);
  }
  return waiting.length > 0 ? ExitCode.unfinished : ExitCode.done;
}

const LONGEST_TEXT = 4000;

function quoted(text: string, pick: number | null): string {
  const shown = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}…`;
  const lines = visibleLines(shown).split("\n");
  return [...(pick === null ? [] : [`${pick}:`]), ...lines.map((line) => `  | ${line}`)].join("\n");
}

const columns = [
  { title: "pick", value: (take: OfferedTake) => String(take.pick), align: "right" },
  { title: "step", value: (take: OfferedTake) => visible(take.step), flexible: true },
  { title: "output", value: (take: OfferedTake) => String(take.index), align: "right" },
  { title: "what", value: (take: OfferedTake) => visible(take.content_type ?? (take.text === null ? "–" : "text")) },
  { title: "where", value: where, flexible: true },
] as const;

const comparison: readonly Column<ComparedPart>[] = [
  { title: "pick", value: ({ offered }) => offered.map((at) => at + 1).join(", ") || "–", align: "right" },
  { title: "part", value: ({ name }) => visible(name), flexible: true },
  { title: "model", value: ({ models }) => visible(models.join(" + ")), flexible: true },
  { title: "cost", value: ({ costMicros }) => (costMicros === null ? "–" : dollars(costMicros)), align: "money" },
  { title: "took", value: ({ tookMs }) => (tookMs === null ? "–" : formatDuration(tookMs)), align: "right" },
  { title: "missing", value: ({ missing }) => visible(missing ?? ""), flexible: true },
];

function where({ path, asset_id, text }: OfferedTake): string {
  return visible(path ?? asset_id ?? (text === null ? "–" : "below"));
}

/** Converts the value of `--pick` (a number or a step name) to a take number. */
async function picked(
  show: Showrunner,
  context: Context,
  { runId, step }: { readonly runId: string; readonly step: string },
  flags: Flags["approve"],
): Promise<number | null> {
  const waiting = (await waitingIn(show, context, runId, flags)).find((one) => one.step === step);
  const next = `showrunner approve ${visible(runId)}   (lists the takes with their numbers)`;
  const text = flags.pick;
  if (text === undefined) {
    if (waiting?.choose !== true) return null;
    throw usageError(`${visible(step)} asks for a choice: add --pick NUMBER`, next);
  }
  const shows = waiting?.shows ?? [];
  const created = shows.filter((take) => take.step === text);
  if (created.length === 1) return created[0]!.pick;
  const number = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  // If the step is not waiting, the engine refuses the decision with the reason.
  if (waiting === undefined ? number > 0 : shows.some(({ pick }) => pick === number)) return number;
  const problem =
    created.length > 1 ? `${visible(text)} has several outputs` : `${visible(step)} does not show ${visible(text)}`;
  throw usageError(`--pick: ${problem}`, next);
}

export async function open(context: Context, runId: string, path: string, flags: Flags["open"]): Promise<void> {
  const { io, output } = context;
  return withJournal(flags, async (show) => {
    const about = await aboutRun(show, context, runId, flags);
    const { report, run } = about;
    const step = report.steps.find((one) => one.path === path) ?? unknownStep(report, path);
    const planned = run.state.planned.plan.steps.find((one) => one.path === path);
    const decision = planned === undefined ? null : traitsOf(planned).decision;
    const shown = decision === null ? await resultsOf(step, about) : await offeredTakes(decision, about);
    const files = shown.flatMap(({ path: file }) => (file === null ? [] : [file]));
    output.printJson(shown);
    for (const { path: file, text } of shown) output.print(file === null ? visibleLines(text ?? "–") : visible(file));
    if (shown.length === 0) output.say(`${visible(path)} has no output; its status is ${step.status}.`);
    if (output.isJson || flags.print || io.open === null || files.length === 0) return;
    for (const file of files) await io.open(file);
    output.say(`Opened ${counted(files.length, "file")}.`);
  });
}

function unknownStep(report: RunDocument, path: string): never {
  const known = report.steps.map((step) => step.path);
  const [suggestion] = suggest(path, known);
  const hint = suggestion === undefined ? "" : `; did you mean ${visible(suggestion)}?`;
  throw usageError(
    `Run ${visible(report.id)} has no step ${visible(path)}${hint}`,
    suggestion === undefined ? `showrunner show ${report.id}` : `showrunner open ${report.id} ${suggestion}`,
  );
}
