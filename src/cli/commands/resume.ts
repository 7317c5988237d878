import type { Drift, Pipeline, Remake, RerunRequest, ResumeOptions, Showrunner } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import { type Context, type ServiceFlags, sameAgain, sayWhere, withShowrunner } from "../context.ts";
import { ExitCode } from "../exit-code.ts";
import { agreeTo } from "../input/agree.ts";
import { checkAmount } from "../input/amount.ts";
import { readDuration } from "../input/duration.ts";
import { codeOf } from "../input/journaled.ts";
import { pastMedians } from "../input/past-durations.ts";
import { loadPipeline } from "../load/pipeline-file.ts";
import { diffLines } from "../report/diff-lines.ts";
import { remakeTable } from "../report/remake-table.ts";
import { visible } from "../text/escape.ts";
import { dollars } from "../text/money.ts";
import { followRun } from "./follow.ts";
import { reportProblems } from "./plan.ts";

export interface ResumeFlags extends ServiceFlags {
  readonly budget?: string;
  readonly maxUnquoted?: string;
  readonly waitForFunds?: string;
  readonly file?: string;
  readonly acceptChanges?: boolean;
  readonly rerun?: readonly string[];
  readonly requestId?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `showrunner resume`: goes on where the journal ends; paid jobs are collected, never made again unless that is asked for. */
export async function resume(context: Context, runId: string, flags: ResumeFlags): Promise<ExitCode> {
  checkAmount("--budget", flags.budget);
  checkAmount("--max-unquoted", flags.maxUnquoted);
  const { waitForFunds } = flags;
  const waitForFundsMs =
    waitForFunds === undefined ? null : readDuration("--wait-for-funds", waitForFunds, "30m, 2h or 90s");
  if (flags.acceptChanges && flags.file === undefined) {
    const next = sameAgain(context, "--file", "pipeline.ts");
    throw new CliError("USAGE", "--accept-changes takes up what changed in a file; which?", { next });
  }
  const loaded = flags.file === undefined ? null : await loadPipeline(flags.file, context.io.cwd);
  const given = loaded?.pipeline ?? null;
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const refused = await agreeToChanges(show, context, { runId, given, flags });
    if (refused !== null) return refused;
    const pipeline = given ?? (await codeOf(show, runId, context.io.cwd));
    return continueRun(show, context, runId, flags, {
      // Without a file the run goes on as it was planned; its own code is asked for functions only.
      ...(pipeline !== null && { pipeline, compare: given !== null }),
      ...(loaded !== null && { source: { file: loaded.file, exportName: loaded.exportName } }),
      ...(flags.acceptChanges && { acceptChanges: true }),
      ...(flags.rerun !== undefined && { rerun: flags.rerun }),
      ...(flags.requestId !== undefined && { requestId: flags.requestId }),
      ...(flags.budget !== undefined && { budget: flags.budget }),
      ...(flags.maxUnquoted !== undefined && { maxUnquoted: flags.maxUnquoted }),
      ...(waitForFundsMs !== null && { waitForFundsMs }),
    });
  });
}

/** Drives a run on and shows it to its end or pause. */
export async function continueRun(
  show: Showrunner,
  context: Context,
  runId: string,
  flags: { readonly json?: boolean },
  options?: ResumeOptions,
): Promise<ExitCode> {
  const known = (await show.runs()).find((row) => row.runId === runId);
  const pipeline = options === undefined ? await codeOf(show, runId, context.io.cwd) : null;
  const medians = await pastMedians(show);
  const handle = await show.resume(runId, options ?? (pipeline === null ? {} : { pipeline, compare: false }));
  context.talk.say(`Run ${visible(handle.id)}`);
  return followRun(handle, context, {
    json: flags.json,
    afterSeq: known?.lastSeq ?? 0,
    medians,
    pace: () => show.client.pace(),
  });
}

interface Asked {
  readonly runId: string;
  readonly given: Pipeline | null;
  readonly flags: ResumeFlags;
}

/** Shows what would be made again, with its price, and asks. The exit code of a refusal, or null to go on. */
async function agreeToChanges(show: Showrunner, context: Context, asked: Asked): Promise<ExitCode | null> {
  const { runId, given, flags } = asked;
  const drift = given === null ? null : await show.drift(runId, given);
  if (drift !== null && !drift.isSame) {
    const refused = sayDrift(drift, context, asked);
    if (refused !== null) return refused;
  }
  const { requestId } = flags;
  const rerun = flags.rerun === undefined ? null : await show.rerunQuote(runId, flags.rerun, { requestId });
  for (const known of rerun?.inProgress ?? []) sayGoesOn(known, context);
  const remake = largest(drift, rerun);
  if (remake === null || remake.stale.length === 0) return null;
  if (remake.problems.length > 0) return reportProblems(remake.problems, context, flags);
  context.talk.say(`\n${remakeTable(remake, context.io.stderr.columns)}\n`);
  if (show.service.kind === "hosted") await agree(remake, context, asked);
  return null;
}

function sayGoesOn({ requestId, steps, requestedAt, isOpen }: RerunRequest, { talk }: Context): void {
  const what = `The rerun of ${steps.map(visible).join(", ")}, asked for at ${new Date(requestedAt).toISOString()}`;
  talk.say(
    isOpen
      ? `${what}, is in progress: going on with it (request ${visible(requestId)}). To make it once more: --request-id ID`
      : `${what} under this id, is finished: nothing is made again.`,
  );
}

/** Changes that nobody accepted stop here, before anything is asked of the service. */
function sayDrift(drift: Drift, context: Context, { runId, flags }: Asked): ExitCode | null {
  const { talk } = context;
  talk.say(`${talk.paint(["bold", "yellow"], "The code changed")} since the run was planned:`);
  for (const line of diffLines(drift)) talk.say(`  ${line}`);
  if (drift.problems.length > 0) return reportProblems(drift.problems, context, flags);
  if (flags.acceptChanges) return null;
  talk.say(remakeTable(drift, context.io.stderr.columns));
  talk.say("Nothing was spent or changed.");
  talk.next(`${sameAgain(context, "--accept-changes")}   (or without --file, as it was planned)`);
  if (flags.json) talk.printJson({ id: runId, drift });
  return ExitCode.unfinished;
}

function largest(drift: Drift | null, rerun: Remake | null): Remake | null {
  if (drift === null || rerun === null) return rerun ?? drift;
  return rerun.stale.length >= drift.stale.length ? rerun : drift;
}

/** Real money needs a yes: from the flag, or from a person. */
async function agree({ totalMicros }: Remake, context: Context, { flags }: Asked): Promise<void> {
  const price = totalMicros.max === null ? `at least ${dollars(totalMicros.min)}` : dollars(totalMicros.max);
  await agreeTo(context, {
    yes: flags.yes === true,
    question: `Make these steps again, for ${price} on top of what was spent?`,
    what: `This makes paid steps again (${price})`,
    next: sameAgain(context, "--yes"),
  });
}
