import { toDocument } from "../../core/kit/document.ts";
import { own } from "../../core/kit/lookup.ts";
import { dollars } from "../../core/kit/money.ts";
import type { RunDocument, RunHandle, RunResult, Showrunner } from "../../index.ts";
import { CliError, ExitCode } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { explainError, isUnexpected } from "../explain-error.ts";
import { type WatchOptions, watchRun } from "../live/watch.ts";
import { missingLines, overchargeLines } from "../report/warning-lines.ts";
import { visible } from "../text/escape.ts";
import { commandLine } from "../text/next-line.ts";

export function listOutputs(outputs: unknown, name = ""): readonly { readonly name: string; readonly value: string }[] {
  if (typeof outputs !== "object" || outputs === null)
    return outputs === undefined || outputs === null ? [] : [{ name, value: String(outputs) }];
  const { path, voiceId } = outputs as { readonly path?: unknown; readonly voiceId?: unknown };
  if (typeof path === "string") return [{ name, value: path }];
  if (typeof voiceId === "string") return [{ name, value: voiceId }];
  return Object.entries(outputs).flatMap(([key, value]) => listOutputs(value, name === "" ? key : `${name}.${key}`));
}

export function sharedWord({ budget_tag }: Pick<RunDocument, "budget_tag">): string {
  return budget_tag === null ? "" : "shared ";
}

const MOST_NAMES = 6;

export function reasonLines(steps: RunDocument["steps"]): readonly string[] {
  const own = steps.filter(({ status }) => status === "failed" || status === "partial");
  const left = steps.filter(({ status, reason }) => status === "skipped" && reason !== null);
  return [
    ...own.map(
      (step) =>
        `${visible(step.path)} ${step.status}${step.reason === null ? "" : `: ${visible(step.reason)}`}${siteText(step)}`,
    ),
    ...skippedLines(left),
  ];
}

export function siteText({ status, attempts }: RunDocument["steps"][number]): string {
  const site = status === "failed" ? attempts.at(-1)?.site : undefined;
  return site === undefined ? "" : ` (at ${visible(site)})`;
}

function skippedLines(left: RunDocument["steps"]): readonly string[] {
  const [first] = left;
  if (first === undefined) return [];
  if (left.length === 1) return [`${visible(first.path)} skipped: ${visible(first.reason ?? "")}`];
  const names = left.slice(0, MOST_NAMES).map(({ path }) => visible(path));
  const more = left.length > MOST_NAMES ? `, and ${left.length - MOST_NAMES} more` : "";
  return [`${left.length} steps skipped: ${names.join(", ")}${more}`];
}

const ends = {
  succeeded: { code: ExitCode.done, colour: "green" },
  partial: { code: ExitCode.unfinished, colour: "yellow" },
  paused: { code: ExitCode.unfinished, colour: "yellow" },
  failed: { code: ExitCode.failed, colour: "red" },
  cancelled: { code: ExitCode.failed, colour: "red" },
} as const satisfies Record<RunResult["status"], object>;

function exitCodeOf({ status, report }: RunResult): ExitCode {
  const { code } = ends[status];
  return code === ExitCode.done && report.over_budget !== null ? ExitCode.unfinished : code;
}

export function watching(show: Showrunner): WatchOptions {
  return { expectedMs: (step) => show.expectedMs(step), pace: () => show.client.pace() };
}

export async function followRun(handle: RunHandle, context: Context, options: WatchOptions): Promise<ExitCode> {
  const { io, output } = context;
  const onInterrupt = () => {
    output.say(
      "\nStopping as soon as the service has answered all pending submissions. Press Ctrl-C again to exit at once.",
    );
    handle.stop().catch((error: unknown) => output.say(`stop failed: ${visible(String(error))}`));
  };
  if (io.interrupt.aborted) onInterrupt();
  io.interrupt.addEventListener("abort", onInterrupt, { once: true });
  try {
    await watchRun(handle.events(), io, output, options);
    const result = await handle.result().catch((error: unknown) => {
      throw interrupted(error, handle.id, context);
    });
    output.printJson({ ...result.report, still_running: toDocument(result.openJobs) });
    for (const { name, value } of listOutputs(result.outputs)) output.print(`${visible(name)}\t${visible(value)}`);
    sayEnd(result, context);
    return io.interrupt.aborted && result.status === "paused" ? ExitCode.interrupted : exitCodeOf(result);
  } finally {
    io.interrupt.removeEventListener("abort", onInterrupt);
  }
}

const drivenElsewhere = new Set(["RUN_BUSY", "RUN_TAKEN_OVER"]);

/**
 * Wraps an error that interrupted a run, so that the exit code is "unfinished": the run may already have spent money.
 */
function interrupted(error: unknown, runId: string, { io, args }: Context): unknown {
  const { code, next: given } = error as { readonly code?: string; readonly next?: string | null };
  if (!(error instanceof Error) || code === undefined || drivenElsewhere.has(code) || isUnexpected(error)) return error;
  const { message } = explainError(error, { env: io.env, args });
  const next = given ?? `${own(mends, code) ?? ""}showrunner resume ${visible(runId)}`;
  return new CliError("RUN_INTERRUPTED", message, { next, exitCode: ExitCode.unfinished, cause: error });
}

const mends: Readonly<Record<string, string>> = {
  JOURNAL_DISK_FULL: "free up disk space, then: ",
  JOURNAL_IO: "check the disk, then: ",
  JOURNAL_UNREACHABLE: "make sure that the database is reachable, then: ",
  JOURNAL_FOLDER: "restore the journal's folder, then: ",
  JOURNAL_READ_ONLY: "make the journal writable, then: ",
  ENOSPC: "free up disk space, then: ",
};

function sayEnd(result: RunResult, { output }: Context): void {
  const { budget: most } = result.report;
  const budget = most === null ? "" : ` of a ${sharedWord(result.report)}budget of ${dollars(most)}`;
  output.say(
    `${output.paint(["bold", ends[result.status].colour], result.status)}: run ${visible(result.id)} cost ${dollars(result.cost.micros)}${budget}`,
  );
  for (const line of reasonLines(result.report.steps)) output.say(`  ${line}`);
  const { missing, message, steps } = result.report;
  const isOfSteps = steps.some(({ path, reason }) => reason !== null && message?.startsWith(`${path}: `));
  if (message !== null && result.pause === null && !isOfSteps) output.say(`  ${visible(message)}`);
  if (result.pause) {
    // For an unresolved step, `missing` already contains the whole message.
    if (missing.every(({ text }) => text !== result.pause.message))
      output.say(`  ${result.pause.reason}: ${visible(result.pause.message)}`);
    if (result.pause.fundingUrl) output.say(`  Add funds: ${visible(result.pause.fundingUrl)}`);
  }
  for (const line of overchargeLines(result.report)) output.say(`  ${line}`);
  for (const line of missingLines(result.report, Date.now())) output.say(`  ${line}`);
  const { next } = result.report;
  const others = [
    `showrunner report ${visible(result.id)}   (writes one page with results, media and costs)`,
    "showrunner dashboard   (shows all runs in this folder, with their media)",
  ];
  output.next(...(next === null ? [] : [commandLine(next)]), ...(result.status === "paused" ? [] : others));
}
