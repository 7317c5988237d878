import { existsSync } from "node:fs";
import { toDocument } from "../../core/kit/document.ts";
import { MOST_LEVELS, parseJson } from "../../core/kit/json-text.ts";
import { isRunFinal, loadRun } from "../../core/view/index.ts";
import type { Drift, Json, Pipeline, ResumeOptions, Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withJournal, withShowrunner } from "../context.ts";
import { inputSchema, readInput, readTextOrFile } from "../input/read-input.ts";
import { checkTableFlags } from "../input/run-options.ts";
import { confirm, type Io, isAgreed } from "../io.ts";
import { checkOwn, codeOf, type LoadedPipeline, loadPipeline } from "../load/pipeline-file.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { diffLines } from "../report/comparison.ts";
import { rerunTable, totalText } from "../report/price-table.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";
import { followRun, watching } from "./follow.ts";
import { reportProblems } from "./plan.ts";

export async function resume(context: Context, runId: string, flags: Flags["resume"]): Promise<ExitCode> {
  const { note, rerunFailed, accountMoved, budget, agree, quote, maxUnquoted } = flags;
  checkTableFlags(flags);
  checkFlags(runId, flags);
  const edited = await readEdits(flags.edit, context.io);
  const named = flags.file === undefined ? null : await loadPipeline(flags.file, context.io.cwd);
  return withShowrunner(flags, async (show) => {
    sayWhere(show, context);
    const isCorrected = flags.input !== undefined || (flags.i ?? []).length > 0;
    const isCompared = flags.acceptChanges === true || isCorrected || edited !== undefined || flags.redo !== undefined;
    const loaded = named ?? (isCompared ? await ownCode(show, runId, context) : null);
    const { edit = edited, rerun = flags.rerun } = await redoFor(show, runId, flags, { context, loaded });
    // While its steps are running, a redo only continues the run, so there is no request to identify.
    const isRequested = flags.redo === undefined || edit !== undefined || rerun !== undefined;
    const requestId = isRequested ? flags.requestId : undefined;
    const input = isCorrected ? await correction(flags, context, loaded!) : undefined;
    const given = loaded?.pipeline ?? null;
    const functions = given === null ? await ownFunctions(show, context, runId) : { pipeline: given };
    const requested = { runId, given, functions, input, edit, rerun, flags: { ...flags, requestId } };
    const agreed = await agreeToChanges(show, context, requested);
    if ("refused" in agreed) return agreed.refused;
    return continueRun(show, context, runId, {
      ...functions,
      ...(loaded !== null && { source: { file: loaded.file, exportName: loaded.exportName } }),
      acceptChanges: agreed.accepted,
      input,
      edit,
      everywhere: agreed.everywhere,
      note,
      rerun,
      rerunFailed,
      sameSeed: agreed.sameSeed,
      accountMoved,
      requestId,
      budget,
      agree,
      quote: quote ?? agreed.quote,
      maxUnquoted,
      waitForFundsMs: flags.waitForFunds,
      giveUpAfterMs: flags.giveUpAfter,
      waitForCapMs: flags.waitForCap,
    });
  });
}

/** Refuses flags that exclude each other, and `--quote` if no change to the run is requested. */
function checkFlags(runId: string, flags: Flags["resume"]): void {
  const { redo, edit, rerun, rerunFailed, input, i, file, acceptChanges, note } = flags;
  const isGiven = (...changes: readonly unknown[]) => changes.some((change) => change !== undefined);
  const refuseIf = (isWrong: boolean, message: string, next: string) => {
    if (isWrong) throw usageError(message, next);
  };
  const isChanged = isGiven(redo, edit, rerun, rerunFailed, input, i, file, acceptChanges);
  const command = `showrunner resume ${visible(runId)}`;
  // Changes can only be priced after the move.
  refuseIf(
    flags.accountMoved === true && isChanged,
    "--account-moved cannot be combined with changes to the run; use it first, on its own",
    `${command} --account-moved`,
  );
  const redoing = `${command} --redo ${visible(redo ?? "")} --note ${visible(note ?? "TEXT")}`;
  refuseIf(isGiven(redo) && note === undefined, "--redo needs a note on what to change", redoing);
  refuseIf(
    isGiven(redo) && isGiven(edit, rerun, rerunFailed, input, i),
    "--redo cannot be combined with other changes to the run",
    redoing,
  );
  refuseIf(
    isGiven(flags.quote) && !isChanged,
    "--quote: there is nothing to accept, because no change to the run was requested",
    "repeat the command that showed the quote and add --quote ID, or omit --quote",
  );
}

async function redoFor(
  show: Showrunner,
  runId: string,
  { redo, note }: Flags["resume"],
  { context, loaded }: { readonly context: Context; readonly loaded: LoadedPipeline | null },
): Promise<Pick<ResumeOptions, "edit" | "rerun">> {
  if (redo === undefined) return {};
  const asked = await show.redo(runId, redo, note!, loaded?.pipeline);
  const { output } = context;
  if (asked.rerun !== undefined)
    output.say(
      `${asked.rerun.map(visible).join(", ")} has no \`revise\` function, so the note has no effect: the same request is sent again, with new seeds for takes.`,
    );
  if (asked.edit === undefined && asked.rerun === undefined)
    output.say(`${visible(redo)} is already in progress; the run continues and the note has no effect.`);
  return asked;
}

async function correction(
  flags: Flags["resume"],
  { io }: Context,
  { pipeline }: LoadedPipeline,
): Promise<ResumeOptions["input"]> {
  const changes = await readInput(flags, io, await inputSchema(pipeline));
  if (typeof changes === "object" && changes !== null && !Array.isArray(changes)) return { ...changes };
  throw new CliError("INPUT_INVALID", "--input must be an object with the input fields to correct", {
    next: "set the fields to change: -i name=value",
  });
}

async function ownCode(show: Showrunner, runId: string, context: Context): Promise<LoadedPipeline> {
  const { source } = (await loadRun(show.journal, runId)).planned;
  if (source !== null && existsSync(source.file)) {
    await checkOwn(source.file, runId, context.io.cwd);
    return loadPipeline(`${source.file}#${source.exportName}`, context.io.cwd);
  }
  const why = source === null ? "its file is unknown" : `${visible(source.file)} no longer exists`;
  throw usageError(
    `This command needs the pipeline code of run ${visible(runId)}, but ${why}`,
    repeatedCommand(context, "--file", "pipeline.ts"),
  );
}

export async function continueRun(
  show: Showrunner,
  context: Context,
  runId: string,
  options?: ResumeOptions,
): Promise<ExitCode> {
  const known = (await show.runs()).find((row) => row.runId === runId);
  const handle = await show.resume(runId, options ?? (await ownFunctions(show, context, runId)));
  context.output.say(`Run ${visible(handle.id)}`);
  const { budget, acceptChanges, input, edit, rerun, rerunFailed } = options ?? {};
  const isToChange = acceptChanges || rerunFailed || [input, edit, rerun].some((change) => change !== undefined);
  if (budget !== undefined && !isToChange && known !== undefined && isRunFinal(known.status))
    context.output.say(`The run has already ended (${known.status}), so --budget ${budget} has no effect.`);
  return followRun(handle, context, { ...watching(show), afterSeq: known?.lastSeq ?? 0 });
}

async function ownFunctions(show: Showrunner, context: Context, runId: string): Promise<ResumeRequest["functions"]> {
  const code = await codeOf(show, runId, context.io.cwd);
  if (code === null) return {};
  const { pipeline, isNeeded } = code;
  // If the comparison fails, resuming reports why.
  const drift = pipeline === null ? null : await show.drift(runId, pipeline).catch(() => null);
  if (pipeline === null || drift?.isSame === false) {
    const next = `showrunner resume ${visible(runId)} --accept-changes`;
    context.output.say(
      `The pipeline has changed since the run was planned; the run continues with the old plan. To apply the changes: ${next}`,
    );
  }
  return pipeline !== null && isNeeded ? { pipeline, compare: false } : {};
}

interface ResumeRequest {
  readonly runId: string;
  readonly given: Pipeline | null;
  readonly functions: Pick<ResumeOptions, "pipeline" | "compare">;
  readonly input: ResumeOptions["input"];
  readonly edit: ResumeOptions["edit"];
  readonly rerun: ResumeOptions["rerun"];
  readonly flags: Flags["resume"];
}

type Agreed =
  | { readonly refused: ExitCode }
  | ({ readonly accepted: boolean; readonly sameSeed: boolean } & Pick<ResumeOptions, "everywhere" | "quote">);

async function agreeToChanges(show: Showrunner, context: Context, requested: ResumeRequest): Promise<Agreed> {
  const { runId, given, functions, input, edit, rerun: named, flags } = requested;
  const everywhere = given === null ? undefined : await decideElsewhere(show, context, { ...requested, given });
  const { requestId, rerunFailed } = flags;
  const again = { rerun: named, requestId, rerunFailed };
  const drift = given === null ? null : await show.drift(runId, given, { input, edit, everywhere, ...again });
  const isChanged = drift !== null && !drift.isSame;
  let hasYes = false;
  const answers: string[] = everywhere === flags.everywhere ? [] : [everywhere ? "--everywhere" : "--no-everywhere"];
  if (isChanged) {
    const answer = await sayDrift(drift, context, requested, show.service.kind);
    if (answer !== "agreed" && answer !== "by flag") return { refused: answer };
    hasYes = answer === "agreed";
    if (hasYes) answers.push("--accept-changes");
  }
  const accepted = isChanged || flags.acceptChanges === true;
  const goOn = { accepted, sameSeed: flags.sameSeed === true, everywhere };
  const isTakenUp = accepted || input !== undefined || edit !== undefined;
  const isRerun = named !== undefined || rerunFailed === true;
  const rerun = () => show.rerunQuote(runId, named ?? [], { requestId, rerunFailed, ...functions });
  const rerunScope = isTakenUp ? drift : isRerun ? await rerun() : null;
  for (const known of rerunScope?.inProgress ?? []) sayGoesOn(known, context);
  const same = rerunScope?.sameSeed ?? [];
  if (same.length > 0) await agreeToTheSame(same, context, requested);
  if (same.length > 0 && !flags.sameSeed) answers.push("--same-seed");
  if (rerunScope === null || rerunScope.stale.length === 0) return goOn;
  if (rerunScope.problems.length > 0) return { refused: reportProblems(rerunScope.problems, context, flags.baseUrl) };
  context.output.say(`\n${rerunTable(rerunScope, context.io.stderr.columns)}\n`);
  const { id } = rerunScope;
  if (id !== null && flags.quote === undefined)
    context.output.say(`To accept exactly this quote: ${repeatedCommand(context, "--quote", id, ...answers)}\n`);
  if (show.service.kind === "hosted") {
    await agree(rerunScope, context, requested);
    hasYes ||= flags.yes !== true;
  }
  // A yes on the terminal covers exactly the prices shown.
  const quote = hasYes && flags.maxUnquoted === undefined ? (id ?? undefined) : undefined;
  return { ...goOn, sameSeed: goOn.sameSeed || same.length > 0, quote };
}

async function decideElsewhere(
  show: Showrunner,
  context: Context,
  { runId, given, input, edit, flags: { everywhere, requestId } }: ResumeRequest & { readonly given: Pipeline },
): Promise<boolean | undefined> {
  if (edit === undefined || everywhere !== undefined) return everywhere;
  const { sameText } = await show.drift(runId, given, { input, edit, requestId });
  const [first] = sameText;
  if (first === undefined) return undefined;
  const { output, io } = context;
  output.say(`${JSON.stringify(visible(first.text))} also occurs in other steps:`);
  for (const { step, field } of sameText) output.say(`  ${visible(step)} ${visible(field)}`);
  if (io.ask !== null) return isAgreed(io, "Replace the text in those steps too?");
  if (!sameText.some(({ isLocal }) => isLocal)) return undefined;
  throw new CliError(
    "NOT_CONFIRMED",
    "The old text also occurs in other steps; unless you replace it there too, the files of those steps will still contain it",
    { next: `${repeatedCommand(context, "--everywhere")}   (or --no-everywhere)` },
  );
}

async function agreeToTheSame(same: Drift["sameSeed"], context: Context, { flags }: ResumeRequest): Promise<void> {
  const seeds = same.map(({ step, seed }) => `seed ${seed} for ${visible(step)}`).join(", ");
  const { step, seed } = same[0]!;
  const what = `The code sets ${seeds}, so the rerun would send the same request again, and you would probably pay again for the same result`;
  await confirm(context.io, {
    yes: flags.sameSeed === true,
    question: `${what}. Send the request?`,
    what,
    refused: "Not started; nothing was spent",
    next: `${repeatedCommand(context, "--same-seed")}   (or, for another result: --edit ${visible(step)}:seed:=${seed + 1})`,
  });
}

function sayGoesOn({ requestId, steps, requestedAt, isOpen }: Drift["inProgress"][number], { output }: Context): void {
  const what = `The rerun of ${steps.map(visible).join(", ")}, requested at ${new Date(requestedAt).toISOString()}`;
  output.say(
    isOpen
      ? `${what}, is already in progress and will continue (request ${visible(requestId)}). To request another rerun, pass a different --request-id`
      : `${what} with this request id, has already finished. Nothing new was started.`,
  );
}

/**
 * Shows the changes to a run. Returns `agreed` if the user accepted them at the prompt, `by flag` if a flag accepts
 * them, or else an exit code.
 */
async function sayDrift(
  drift: Drift,
  context: Context,
  requested: ResumeRequest,
  service: Showrunner["service"]["kind"],
): Promise<ExitCode | "agreed" | "by flag"> {
  const { runId, flags } = requested;
  const { output, io } = context;
  const isWanted = requested.input !== undefined || requested.edit !== undefined;
  const what = isWanted
    ? "These requests differ from the plan because of your changes and any changes to the code"
    : "The code changed since the run was planned";
  const lines = diffLines(drift);
  if (lines.length > 0 || drift.problems.length === 0) output.say(`${output.paint(["bold", "yellow"], what)}:`);
  for (const line of lines) output.say(`  ${line}`);
  if (drift.problems.length > 0) return reportProblems(drift.problems, context, flags.baseUrl);
  if (flags.acceptChanges || (isWanted && flags.yes)) return "by flag";
  output.say(rerunTable(drift, io.stderr.columns));
  if (await isAgreed(io, "Apply these changes?")) return "agreed";
  output.say("Nothing was spent or changed.");
  // Without a terminal, nobody could confirm the price of the repeated command.
  const isConfirmed = service === "local" || io.ask !== null || drift.stale.length === 0;
  const yes = isConfirmed || flags.yes || flags.quote !== undefined ? "" : " --yes";
  output.next(
    `${repeatedCommand(context, "--accept-changes")}${yes}   (or omit ${wantedBy(requested)} to continue as planned)`,
  );
  output.printJson({ id: runId, drift: toDocument(drift) });
  return ExitCode.unfinished;
}

function wantedBy({ input, edit, flags }: ResumeRequest): string {
  if (flags.redo !== undefined) return "--redo";
  if (edit !== undefined) return "--edit";
  return input === undefined ? "--file" : "-i";
}

async function agree(
  rerunScope: Pick<Drift, "totalMicros" | "prices">,
  context: Context,
  { flags }: ResumeRequest,
): Promise<void> {
  const price = totalText(rerunScope);
  await confirm(context.io, {
    yes: flags.yes === true || flags.quote !== undefined,
    question: `Rerun these steps, adding ${price} to the run's cost?`,
    what: `This reruns paid steps (${price}) and spends real money`,
    refused: "Not started; nothing was spent",
    next: repeatedCommand(context, "--yes"),
  });
}

export async function stop(context: Context, runId: string, flags: ServiceFlags): Promise<void> {
  return withJournal(flags, async (show) => {
    await show.stop(runId);
    const { status } = await show.show(runId);
    const isOver = status !== "interrupted" && isRunFinal(status);
    context.output.printJson({ id: runId, status });
    context.output.say(
      isOver
        ? `Run ${visible(runId)} has already ended (${status}); nothing was stopped.`
        : status === "paused"
          ? `Run ${visible(runId)} is paused: it submits nothing until someone makes the pending decision or resumes the run.`
          : `Asked run ${visible(runId)} to stop: it will submit no more jobs. Jobs already paid for continue on the service.`,
    );
    context.output.next(`showrunner ${isOver ? "show" : "resume"} ${visible(runId)}`);
  });
}

/** Parses `--edit` flags: `step:field=text`, `step:field:=json` and `step:field=@file`. */
async function readEdits(flags: readonly string[] | undefined, io: Io): Promise<ResumeOptions["edit"]> {
  if (flags === undefined) return undefined;
  const edits = new Map<string, Record<string, Json>>();
  for (const flag of flags) {
    const [, step, field, sign, text = ""] = /^([^:=]+):([^:=]+?)(:?=)([\s\S]*)$/.exec(flag) ?? [];
    if (step === undefined || field === undefined) {
      throw usageError(
        `--edit ${visible(flag)} is not STEP:FIELD=VALUE`,
        "for example --edit still:prompt='A red boat', or with JSON --edit clip:duration:=5",
      );
    }
    const value = sign === "=" ? await readTextOrFile("--edit", text, io) : jsonOf(text, `${step}:${field}`);
    edits.set(step, { ...edits.get(step), [field]: value });
  }
  return Object.fromEntries(edits);
}

function jsonOf(text: string, name: string): Json {
  const outcome = parseJson(text, MOST_LEVELS);
  if ("value" in outcome) return outcome.value as Json;
  const { message, isValid } = outcome.mistake;
  throw usageError(
    `--edit ${visible(name)} ${isValid ? "has an unusable value" : "is not valid JSON"}: ${visible(message)}`,
    `for text, write: --edit ${visible(name)}=TEXT`,
  );
}
