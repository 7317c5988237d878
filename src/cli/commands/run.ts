import { randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isRunId } from "../../core/kit/file-name.ts";
import { dollars, parseUsd } from "../../core/kit/money.ts";
import { isRunFinal, type RunRow } from "../../core/view/index.ts";
import { OverBudgetError, type Quote } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, journalFolderOf, sayWhere, withJournal, withShowrunner } from "../context.ts";
import { openEngine } from "../engine.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { agreedPrice, checkRunFlags, quoteOptions, runOptions, withProfileService } from "../input/run-options.ts";
import { isAgreed } from "../io.ts";
import { type LoadedPipeline, loadPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { priceTable } from "../report/price-table.ts";
import { visible, visibleError, visibleLines } from "../text/escape.ts";
import { followRun, watching } from "./follow.ts";
import { reportProblems } from "./plan.ts";

export async function run(context: Context, spec: string, given: Flags["run"]): Promise<ExitCode> {
  checkRunFlags(given);
  const loaded = await loadPipeline(spec, context.io.cwd);
  const flags = withProfileService(given, loaded.pipeline);
  const outcome =
    flags.each === undefined
      ? await runOne(context, loaded, flags)
      : await (await import("./run-each.ts")).runRows(context, loaded, flags);
  return typeof outcome === "number" ? outcome : detach(context, outcome, flags);
}

/** A run that a background process will execute. */
interface Detached {
  readonly runId: string;
  /** The unfinished run to continue. Absent for a new run. */
  readonly known?: RunRow;
  /** The maximum cost that the user agreed to, in US dollars. Undefined for the local service. */
  readonly budget?: string | undefined;
  readonly quote?: string | undefined;
  readonly startAnyway?: boolean;
}

async function runOne(context: Context, loaded: LoadedPipeline, flags: Flags["run"]): Promise<ExitCode | Detached> {
  const { io, output } = context;
  const input = await readInput(flags, io, await inputSchema(loaded.pipeline));
  const options = runOptions(flags, loaded);
  if (flags.detach && flags.id !== undefined && !isRunId(flags.id)) {
    const next = "use up to 100 letters, digits, dots, underscores and hyphens";
    throw usageError(`--id ${visible(flags.id)} is not a valid run id`, next);
  }
  const runId = flags.id ?? `${loaded.pipeline.name}-${randomUUID().slice(0, 8)}`;
  return withShowrunner(flags, async (show): Promise<ExitCode | Detached> => {
    sayWhere(show, context);
    const known = flags.id === undefined ? undefined : (await show.runs()).find(({ runId }) => runId === flags.id);
    if (known !== undefined && flags.onExisting === "fail") {
      const next = `showrunner resume ${known.runId}   (or choose another --id)`;
      throw usageError(`Run ${visible(known.runId)} already exists (${known.status})`, next);
    }
    const isHanded = flags.detach === true && flags.engine !== undefined;
    if (known !== undefined && !isHanded) {
      const isOver = isRunFinal(known.status);
      const again = { ...options, budget: flags.budget };
      if (flags.detach && !isOver) {
        // With an id that exists, `start` only checks that plan and input are the same.
        await show.start(loaded.pipeline, input, again);
        const isDriven = known.status === "running" || known.status === "planned";
        return isDriven ? sayDriven(known, context) : { runId, known };
      }
      const handle = await show.run(loaded.pipeline, input, again);
      output.say(
        `Run ${visible(known.runId)} already exists (${known.status}): ${isOver ? "nothing was started" : "continuing it"}.`,
      );
      return followRun(handle, context, { ...watching(show), afterSeq: known.lastSeq });
    }
    const quote = await show.quote(loaded.pipeline, input, {
      ...quoteOptions(flags),
      keep: flags.quote === undefined && flags.budget === undefined,
    });
    if (!quote.ok) return reportProblems(quote.problems, context, flags.baseUrl);
    output.say(`\n${priceTable(quote, io.stderr.columns)}\n`);
    const isAgreed = flags.budget !== undefined || flags.quote !== undefined;
    const budget = flags.budget ?? (isAgreed ? undefined : await agreedPrice(show, quote, context));
    // A yes on the terminal covers exactly the prices shown.
    const shown = isAgreed || budget === undefined ? undefined : (quote.id ?? undefined);
    const startAnyway = await startsAnyway(quote, flags, context);
    const agreed = { budget, quote: flags.quote ?? shown, startAnyway };
    if (isHanded)
      return startElsewhere(context, flags, await show.start(loaded.pipeline, input, { ...options, ...agreed }));
    if (flags.detach) {
      const budgetMicros = budget === undefined ? null : parseUsd(budget);
      if (budgetMicros !== null && quote.expectedMicros > budgetMicros)
        throw new OverBudgetError(quote.expectedMicros, budgetMicros);
      return { runId, ...agreed };
    }
    const handle = await show.run(loaded.pipeline, input, { ...options, ...agreed });
    output.say(`Run ${handle.id}`);
    return followRun(handle, context, watching(show));
  });
}

async function startElsewhere(
  context: Context,
  flags: Flags["run"],
  { id }: { readonly id: string },
): Promise<ExitCode> {
  const { output } = context;
  const engine = await openEngine(context, flags);
  await engine.wake(id).catch((error: unknown) => {
    output.say(`${visibleError(error)}. The run is in the journal, so a worker will find it within seconds.`);
  });
  await engine.close();
  output.result({ id, engine: flags.engine }, visible(id));
  output.say(`Run ${visible(id)} was handed to the ${flags.engine} workers.`);
  output.next(
    `showrunner events ${visible(id)} --follow`,
    `showrunner worker --engine ${flags.engine}   (if no worker is running)`,
  );
  return ExitCode.done;
}

function sayDriven({ runId, status }: RunRow, { output }: Context): ExitCode {
  output.result({ id: runId, pid: null, log: null }, visible(runId));
  output.say(
    `Run ${visible(runId)} already exists (${status}): another process is executing it, so nothing was started.`,
  );
  output.next(`showrunner events ${visible(runId)} --follow`);
  return ExitCode.done;
}

async function startsAnyway(
  { balanceMicros, totalMicros }: Quote,
  flags: Flags["run"],
  { io }: Context,
): Promise<boolean> {
  if (flags.startAnyway === true) return true;
  if (balanceMicros === null || balanceMicros >= totalMicros.min) return false;
  const has = `The wallet holds ${dollars(balanceMicros, Math.floor)} and the plan costs at least ${dollars(totalMicros.min, Math.ceil)}`;
  return isAgreed(io, `${has}. Start anyway, and pause when the wallet is empty?`);
}

const POLL_EVERY_MS = 100;
const LAST_LINES = 15;

async function detach(context: Context, detached: Detached, flags: Flags["run"]): Promise<ExitCode> {
  const { io, output } = context;
  const { runId, known = null } = detached;
  const { background } = io;
  if (background === null) throw usageError("cannot start a background process on this system", "run without --detach");
  const log = join(journalFolderOf(io, flags), "logs", `${runId}.log`);
  // The log of a continued run already has lines of earlier processes.
  const { size: logged } = await stat(log).catch(() => ({ size: 0 }));
  const { child, end } = await withJournal(flags, async ({ journal }) => {
    if (known === null && (await journal.run(runId)) !== null) {
      const next = `showrunner resume ${visible(runId)}   (or choose another --id)`;
      throw usageError(`Run ${visible(runId)} already exists`, next);
    }
    const child = background(argumentsOf(context, detached, flags), log);
    return { child, end: await begun(async () => isBegun(await journal.run(runId), known), child.ended) };
  });
  if (end !== "begun") {
    const text = (await readFile(log).catch(() => Buffer.alloc(0))).toString("utf8", logged);
    // Shows only the error, because the plan before it has been shown already.
    const error = text.slice(text.lastIndexOf("\nerror ") + 1).trimEnd();
    output.say(visibleLines(error.split("\n").slice(-LAST_LINES).join("\n")));
    const how = end === null ? "was ended by a signal" : `ended with exit code ${end}`;
    throw new CliError("USAGE", `The run did not ${known === null ? "start" : "continue"}: its process ${how}`, {
      next: `run the command again without --detach, or read ${visible(log)}`,
      exitCode: end === ExitCode.refused || end === ExitCode.unfinished ? end : ExitCode.failed,
    });
  }
  output.result({ id: runId, pid: child.pid ?? null, log }, visible(runId));
  output.say(`Run ${visible(runId)} continues in process ${child.pid}, which writes to ${visible(log)}`);
  output.next(
    `showrunner events ${visible(runId)} --follow`,
    `showrunner stop ${visible(runId)}   (stops the run from submitting more jobs)`,
    "showrunner dashboard",
  );
  return ExitCode.done;
}

async function begun(
  hasBegun: () => Promise<boolean>,
  ended: Promise<number | null>,
): Promise<"begun" | number | null> {
  const over = ended.then((code) => ({ code }));
  for (;;) {
    if (await hasBegun()) return "begun";
    const end = await Promise.race([over, delay(POLL_EVERY_MS, null)]);
    // A short run may have finished before it was seen.
    if (end !== null) return (await hasBegun()) ? "begun" : end.code;
  }
}

function isBegun(row: RunRow | null, known: RunRow | null): boolean {
  if (row === null || known === null) return row !== null;
  const isTaken = row.lease !== null && !isDeepStrictEqual(row.lease.holder, known.lease?.holder);
  return isTaken || row.lastSeq > known.lastSeq;
}

/** Returns the arguments for the background process: those that the user typed, plus confirmed or generated values. */
function argumentsOf(
  { args }: Context,
  { runId, budget, quote, startAnyway }: Detached,
  flags: Flags["run"],
): readonly string[] {
  const [command = "run", ...typed] = args.filter((word) => word !== "--detach" && word !== "--json");
  const isNamed = flags.each !== undefined || flags.id !== undefined;
  return [
    command,
    ...(isNamed ? [] : ["--id", runId]),
    ...(budget === undefined || flags.budget !== undefined ? [] : ["--budget", budget]),
    ...(quote === undefined || flags.quote !== undefined ? [] : ["--quote", quote]),
    ...(startAnyway && !flags.startAnyway ? ["--start-anyway"] : []),
    ...typed,
  ];
}
