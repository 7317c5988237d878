import { resolve } from "node:path";
import { type BulkQuote, checkEach, type RowOutcome } from "../../core/engine/index.ts";
import { toDocument } from "../../core/kit/document.ts";
import { dollars, formatUsd, parseUsd, wholeCents } from "../../core/kit/money.ts";
import { BATCH_TAG, tagText } from "../../core/kit/tags.ts";
import { shellWord } from "../../core/kit/value-text.ts";
import { type Problem, quoteEach, type RunDocument, runEach, type Showrunner } from "../../index.ts";
import { CliError, ExitCode, usageError } from "../cli-error.ts";
import { type Context, sayWhere, withShowrunner } from "../context.ts";
import { openEngine } from "../engine.ts";
import { explainError } from "../explain-error.ts";
import { inputSchema, readInput } from "../input/read-input.ts";
import { type FileRow, type RowMistake, readRows, withKnownIds } from "../input/rows-file.ts";
import { agreedPrice, quoteOptions, runOptions } from "../input/run-options.ts";
import { sayLimitWaits } from "../live/watch.ts";
import type { LoadedPipeline } from "../load/pipeline-file.ts";
import type { Flags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand, runInstead } from "../text/next-line.ts";
import { type Column, counted, table } from "../text/table.ts";

type RowProblem = Problem & { readonly index: number };

interface PricedRows {
  readonly quote: BulkQuote & { readonly ok: true };
  readonly rows: readonly FileRow[];
}

/** Calls `work` if all rows are valid. Otherwise, reports all mistakes. */
async function withRows<T>(
  context: Context,
  loaded: LoadedPipeline,
  flags: Flags["plan"] | Flags["run"],
  work: (show: Showrunner, priced: PricedRows) => Promise<T>,
): Promise<T | ExitCode> {
  const { io } = context;
  const file = flags.each!;
  const schema = await inputSchema(loaded.pipeline);
  const base = (await readInput(flags, io, schema)) as { readonly [field: string]: unknown };
  const { id: name, idColumn, profile } = flags;
  const { name: pipeline } = loaded.pipeline;
  const read = await readRows(file, { io, flags, name, idColumn, pipeline, profile, schema, base });
  if (read.mistakes.length > 0 && read.rows.length === 0) return sayMistakes(read.mistakes, file, context);
  return withShowrunner(flags, async (show): Promise<T | ExitCode> => {
    sayWhere(show, context);
    using _waits = sayLimitWaits(() => show.client.pace(), context.output);
    const rows = withKnownIds(read.rows, await show.runs());
    const { budget: _, ...given } = quoteOptions(flags);
    // Rows with another name, profile or base input are a different set, so they replace no runs of this set.
    const source = JSON.stringify([resolve(io.cwd, file), name ?? null, profile ?? null, base]);
    const quoting = { ...given, source };
    if (read.mistakes.length > 0) {
      const problems = await checkEach(show, loaded.pipeline, rows, quoting);
      return sayMistakes(withProblems(read.mistakes, problems, rows), file, context);
    }
    const quote = await quoteEach(show, loaded.pipeline, rows, quoting);
    if (!quote.ok) return sayMistakes(withProblems([], quote.problems, rows), file, context);
    return work(show, { quote, rows });
  });
}

export async function planRows(
  context: Context,
  loaded: LoadedPipeline,
  flags: Flags["plan"] | Flags["run"],
): Promise<ExitCode> {
  const { io, output } = context;
  return withRows(context, loaded, flags, async (_, { quote, rows }) => {
    const priced = quote.rows.map((row, at): PricedRow => ({ ...row, line: rows[at]!.line }));
    const isOne = priced.every(({ expectedMicros, maxMicros }) => expectedMicros === maxMicros);
    const columns = rowColumns.filter(({ title }) => !isOne || title !== "at most");
    const text = `${table(priced, columns, io.stdout.columns)}\n\n${quoteText(quote)}`;
    output.result(rowsDocument(quote, priced), text);
    output.next(runInstead(context));
    return ExitCode.done;
  });
}

type PricedRow = PricedRows["quote"]["rows"][number] & { readonly line: number };

const rowColumns: readonly Column<PricedRow>[] = [
  { title: "line", value: ({ line }) => `${line}`, align: "right" },
  { title: "run", value: ({ row }) => visible(row.id) },
  { title: "expected", value: ({ expectedMicros }) => dollars(expectedMicros), align: "money" },
  {
    title: "at most",
    value: ({ maxMicros }) => (maxMicros === null ? "open" : dollars(maxMicros, Math.ceil)),
    align: "money",
  },
  { title: "", value: ({ known }) => known ?? "" },
];

function rowsDocument(quote: PricedRows["quote"], priced: readonly PricedRow[]): unknown {
  const rows = priced.map(({ line, row, expectedMicros, maxMicros, openSteps, known }) => {
    return { line, id: row.id, expectedMicros, maxMicros, openSteps, status: known };
  });
  return toDocument({ ok: true, rows, totalMicros: { expected: quote.expectedMicros, max: maxOf(quote) } });
}

/** Runs all rows. With `--detach` and no engine, runs none and returns the id of the first new run and the budget. */
export async function runRows(context: Context, loaded: LoadedPipeline, flags: Flags["run"]) {
  const { id: _, outDir, onExisting: __, budget: ___, ...options } = runOptions(flags, loaded);
  return withRows(context, loaded, flags, async (show, { quote, rows }) => {
    context.output.say(quoteText(quote));
    const { expectedMicros } = quote;
    const price = { totalMicros: { min: expectedMicros, max: maxOf(quote) }, expectedMicros };
    const budget = flags.budget ?? (await agreedPrice(show, price, context));
    if (flags.detach && flags.engine === undefined) {
      const first = quote.rows.find(({ known }) => known === null);
      if (first === undefined)
        throw usageError("every row already has a run", "run the command again without --detach");
      return { runId: first.row.id, budget };
    }
    const { outcomes, error } = await drive(show, context, {
      loaded,
      quote,
      rows,
      flags,
      options: { ...options, budget, atOnce: flags.atOnce, outDir, startAnyway: flags.startAnyway },
    });
    sayReplaced(quote.replaced, context);
    const isPaused = error === null && outcomes.some(({ status }) => status === "paused");
    const asking = new Set(isPaused ? (await show.waiting()).map(({ runId }) => runId) : []);
    const decisions = outcomes.filter(({ id }) => asking.has(id)).length;
    const end = sayEnd(outcomes, context, { budget: budget ?? null, decisions, list: listOf(quote) });
    if (error !== null) throw afterRows(error, end, context);
    return end;
  });
}

interface Drive extends PricedRows {
  readonly loaded: LoadedPipeline;
  readonly flags: Flags["run"];
  readonly options: Parameters<typeof runEach>[3];
}

/** Runs all rows. If an error occurs after a row has started, returns it as `error` instead of throwing it. */
async function drive(show: Showrunner, context: Context, { loaded, quote, rows, flags, options }: Drive) {
  const { io, output } = context;
  let over = 0;
  let spentMicros = 0;
  const reported = new Map<number, RowOutcome>();
  const onInterrupt = () => output.say("\nStopping as soon as the service has answered all pending submissions.");
  io.interrupt.addEventListener("abort", onInterrupt, { once: true });
  const onRow = (outcome: RowOutcome) => {
    const { id, status, costMicros, message } = outcome;
    reported.set(outcome.index, outcome);
    if (status !== "waiting") over += 1;
    spentMicros += costMicros;
    const { line } = rows[outcome.index]!;
    output.printJsonLine({ line, id, status, cost: formatUsd(costMicros), message });
    if (status === "waiting") return;
    output.print(`${visible(id)}\t${status}\t${dollars(costMicros)}`);
    const why = message === null ? "" : `: ${visible(message)}`;
    output.say(`${over} of ${rows.length} rows, ${dollars(spentMicros)} spent; line ${line} ${status}${why}`);
  };
  const onStart = ({ index, id }: Pick<RowOutcome, "index" | "id">) => {
    output.say(`line ${rows[index]!.line} started: ${visible(id)}`);
  };
  const engine = flags.detach && flags.engine !== undefined ? await openEngine(context, flags) : null;
  const wake = engine === null ? {} : { wake: (runId: string) => engine.wake(runId) };
  try {
    const how = { ...options, ...wake, signal: io.interrupt, onStart, onRow };
    return { outcomes: await runEach(show, loaded.pipeline, quote, how), error: null };
  } catch (error) {
    if ([...reported.values()].every(({ status }) => status === "refused")) throw error;
    const message = error instanceof Error ? error.message : String(error);
    for (const [index, { row, expectedMicros: projectedMicros }] of quote.rows.entries()) {
      if (!reported.has(index))
        onRow({ index, id: row.id, status: "waiting", costMicros: 0, projectedMicros, message });
    }
    return { outcomes: quote.rows.map((_, index) => reported.get(index)!), error };
  } finally {
    await engine?.close();
    io.interrupt.removeEventListener("abort", onInterrupt);
  }
}

/**
 * Turns an error that occurred after rows had started into a `CliError`. Replaces exit code 2, which would mean that
 * nothing was started.
 */
function afterRows(error: unknown, end: ExitCode, { io, args }: Context): CliError {
  const { message, next, exitCode } = explainError(error, { env: io.env, args });
  const actual = exitCode === ExitCode.refused ? end : exitCode;
  return new CliError("RUN_INTERRUPTED", message, { next, exitCode: actual, cause: error });
}

function listOf({ rows }: PricedRows["quote"]): string {
  const [batch, ...others] = new Set(rows.map((row) => row.batch));
  if (batch == null || others.length > 0) return "showrunner runs";
  return `showrunner runs --tag ${shellWord(visible(tagText(BATCH_TAG, batch)))}`;
}

function maxOf({ rows }: PricedRows["quote"]): number | null {
  return rows.reduce<number | null>((sum, { maxMicros }) => {
    return sum === null || maxMicros === null ? null : sum + maxMicros;
  }, 0);
}

function quoteText(quote: PricedRows["quote"]): string {
  const { rows, expectedMicros } = quote;
  const there = rows.filter(({ known }) => known !== null).length;
  const known = there === 0 ? "" : `; ${there} already started`;
  const max = maxOf(quote);
  const open = [...new Set(rows.flatMap(({ openSteps }) => openSteps))].map(visible);
  const about =
    max === null
      ? `at least about ${dollars(expectedMicros)}; no maximum for ${open.join(", ")}`
      : `${dollars(max, Math.ceil)} at most`;
  const expected = max === null || max === expectedMicros ? "" : `, about ${dollars(expectedMicros)} expected`;
  return `${counted(rows.length, "row")} cost ${about}${expected}${known}`;
}

const MOST_REPLACED = 10;

function sayReplaced(replaced: readonly RunDocument[], { output }: Context): void {
  for (const [at, { id, steps, cost, held, next }] of replaced.entries()) {
    const message = "its row was changed or removed; the run continues only if you use the command in `next`";
    const how = next ?? { command: `showrunner resume ${id}`, note: null };
    output.printJsonLine({ line: null, id, status: "replaced", cost, held, message, next: how });
    if (at >= MOST_REPLACED) continue;
    const done = `${steps.filter(({ status }) => status === "succeeded").length} of ${counted(steps.length, "step")} done`;
    output.say(
      `Run ${visible(id)} was replaced: its row was changed or removed. ${dollars(cost)} charged, ${dollars(held)} reserved, ${done}`,
    );
    output.next(`${how.command}   (continues the run: downloads results already paid for, and pays for the rest)`);
  }
  const more = replaced.length - MOST_REPLACED;
  if (more > 0) output.next(`showrunner runs   (also lists ${more} more that were replaced)`);
}

interface End {
  readonly budget: string | null;
  readonly decisions: number;
  readonly list: string;
}

function sayEnd(
  outcomes: readonly RowOutcome[],
  { io, output, args }: Context,
  { budget, decisions, list }: End,
): ExitCode {
  const counts = new Map<RowOutcome["status"], number>();
  for (const { status } of outcomes) counts.set(status, (counts.get(status) ?? 0) + 1);
  output.say([...counts].map(([status, count]) => `${count} ${status}`).join(", "));
  const waiting = outcomes.find(({ status }) => status === "waiting");
  if (waiting !== undefined) output.say(`  not started: ${visible(waiting.message ?? "")}`);
  if (counts.has("handed")) output.next(list, "showrunner worker --engine …   (if no worker is running)");
  const isOpen = ["paused", "partial", "waiting"].some((status) => counts.has(status as RowOutcome["status"]));
  const isFailed = ["failed", "cancelled", "refused"].some((status) => counts.has(status as RowOutcome["status"]));
  if (decisions > 0) {
    const wait = decisions === 1 ? "1 row is waiting" : `${decisions} rows are waiting`;
    output.next(`showrunner approve   (${wait} for a decision; you can also decide under Review in the dashboard)`);
  }
  if (isOpen) {
    const needed = neededBudget(outcomes, budget);
    const again = repeatedCommand({ args }, ...(needed === null ? [] : ["--budget", needed]));
    output.next(`${visible(again)}   (continues the unfinished rows; no row is started twice)`);
  }
  if (!counts.has("handed")) output.next(list);
  if (io.interrupt.aborted) return ExitCode.interrupted;
  return isOpen ? ExitCode.unfinished : isFailed ? ExitCode.failed : ExitCode.done;
}

/** Returns the budget that all rows together need; null if no budget was agreed or the agreed budget is sufficient. */
function neededBudget(outcomes: readonly RowOutcome[], budget: string | null): string | null {
  const micros = outcomes.reduce((sum, { projectedMicros }) => sum + projectedMicros, 0);
  return budget === null || micros <= parseUsd(budget)! ? null : wholeCents(micros);
}

function withProblems(mistakes: readonly RowMistake[], problems: readonly RowProblem[], rows: readonly FileRow[]) {
  const isSaid = (one: RowMistake) => mistakes.some(({ line, column }) => line === one.line && column === one.column);
  return [...mistakes, ...problems.map((problem) => ofRow(problem, rows)).filter((one) => !isSaid(one))];
}

function ofRow({ code, index, step, field, message }: RowProblem, rows: readonly FileRow[]): RowMistake {
  const { id, line } = rows[index]!;
  if (code === "invalid-tag")
    return { line, column: field === "tags" ? null : field!.replace(/^tags\./, "tag:"), message };
  if (code === "repeated-row") {
    const first = rows.find((row) => row.id === id)!;
    const text = `repeats line ${first.line}; to tell the rows apart, add a column whose name begins with #`;
    return { line, column: null, message: text };
  }
  const column = step === null && field !== null ? field.replace(/^input\./, "") : null;
  return {
    line,
    column,
    message: step === null ? message : `step ${step}${field === null ? "" : `, ${field}`}: ${message}`,
  };
}

function sayMistakes(mistakes: readonly RowMistake[], file: string, { output }: Context): ExitCode {
  const sorted = [...mistakes].sort((a, b) => a.line - b.line);
  const message = `${counted(mistakes.length, "mistake")} in ${visible(file)}; nothing was started`;
  const next = "correct the file and try again";
  output.refuse({ ok: false, code: "INPUT_INVALID", message, next, file, mistakes: sorted });
  output.say(`${message}:`);
  const alike = Map.groupBy(sorted, ({ column, message }) => JSON.stringify([column, message]));
  for (const same of alike.values()) {
    const { column, message } = same[0]!;
    const where = linesOf(same.map(({ line }) => line));
    output.say(`  ${where}${column === null ? "" : `, column ${visible(column)}`}: ${visible(message)}`);
  }
  output.next(next);
  return ExitCode.refused;
}

function linesOf(lines: readonly number[]): string {
  const spans: [number, number][] = [];
  for (const line of lines) {
    const last = spans.at(-1);
    if (last !== undefined && line <= last[1] + 1) last[1] = line;
    else spans.push([line, line]);
  }
  const said = spans.map(([from, to]) =>
    from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from} to ${to}`,
  );
  return `${lines.length === 1 ? "line" : "lines"} ${said.join(", ")}`;
}
