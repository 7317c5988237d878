import { hash } from "node:crypto";
import PQueue from "p-queue";
import type { Pipeline } from "../../define/index.ts";
import { isRunFinal } from "../../journal/state.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { openSteps, parseUsd } from "../../kit/money.ts";
import { BATCH_TAG, checkTags, SOURCE_TAG, type Tags } from "../../kit/tags.ts";
import type { Problem } from "../../plan/plan.ts";
import type { RunDocument } from "../../view/document-schema.ts";
import { checkRunId, type RunOptions } from "../options/options.ts";
import type { Showrunner } from "../showrunner/showrunner.ts";

export interface BulkRow {
  /** The run's id. Give a row the same id each time, so that starting it again continues its run. */
  readonly id: string;
  readonly input: unknown;
  readonly title?: string | undefined;
  readonly tags?: RunOptions["tags"];
}

export interface QuotedRow {
  readonly row: BulkRow;
  /** The expected cost of the row's run, in micro-dollars. For an existing run, this is its projected total cost. */
  readonly expectedMicros: number;
  /**
   * The maximum cost of the row's run, in micro-dollars; null if the price of a step has no upper limit. For an
   * existing run, this is its projected total cost.
   */
  readonly maxMicros: number | null;
  readonly openSteps: readonly string[];
  /** The run's expected cost when it was first quoted, in micro-dollars. */
  readonly quotedMicros: number;
  /** The status of the row's existing run; null if the row has no run yet. */
  readonly known: RunDocument["status"] | null;
  /**
   * Name of the row's batch. The runs of a batch share one budget. Null if the row already has a run that belongs to no
   * batch.
   */
  readonly batch: string | null;
}

export interface BulkProblem extends Problem {
  readonly index: number;
}

export type BulkQuote =
  | {
      readonly ok: true;
      readonly rows: readonly QuotedRow[];
      /** The expected total cost of all rows, in micro-dollars. */
      readonly expectedMicros: number;
      /** The id of the source that the rows come from; null if `source` was not set. */
      readonly source: string | null;
      /** Unfinished runs whose rows have been changed in the source or removed from it. `runEach` stops these runs. */
      readonly replaced: readonly RunDocument[];
    }
  | { readonly ok: false; readonly problems: readonly BulkProblem[] };

export interface BulkQuoteOptions
  extends Pick<RunOptions, "maxUnquoted" | "profile" | "reuse" | "concurrency" | "signal"> {
  /**
   * Where the rows come from, such as the path of a file. Set it only if `rows` contains every row of that source:
   * `runEach` stops unfinished runs whose rows are missing or changed. If not set, no run is stopped.
   */
  readonly source?: string | undefined;
}

const AT_ONCE = 8;

/** Checks all rows, then prices all rows. Starts no run and spends nothing. */
export async function quoteEach(
  show: Showrunner,
  pipeline: Pipeline,
  rows: readonly BulkRow[],
  options: BulkQuoteOptions = {},
): Promise<BulkQuote> {
  const { profile, signal, source: from, ...quoting } = options;
  const known = await knownRuns(show, rows);
  const problems = await problemsOf(show, pipeline, rows, { known, profile, signal, source: from });
  if (problems.length > 0) return { ok: false, problems };
  const earlier = [...known.values()].map(batchOf).find((name) => name !== null);
  const batch = earlier ?? batchName(pipeline, rows);
  const quoted = await inOrder(rows, signal, async (row, index): Promise<QuotedRow | readonly BulkProblem[]> => {
    const report = known.get(row.id);
    if (report !== undefined) return knownRow(row, report);
    const quote = await show.quote(pipeline, row.input, { profile, ...quoting, keep: false });
    if (!quote.ok) return quote.problems.map((problem) => ({ ...problem, index }));
    const { expectedMicros, totalMicros, prices } = quote;
    const expected = { expectedMicros, quotedMicros: expectedMicros };
    const { max: maxMicros } = totalMicros;
    return { row, ...expected, maxMicros, openSteps: maxMicros === null ? openSteps(prices) : [], known: null, batch };
  });
  const refused = quoted.flatMap((outcome) => ("row" in outcome ? [] : outcome));
  if (refused.length > 0) return { ok: false, problems: refused };
  const priced = quoted as readonly QuotedRow[];
  const source = from === undefined ? null : hash("sha256", `${pipeline.name}\n${from}`).slice(0, 16);
  const replaced = source === null ? [] : await replacedRuns(show, rows, source);
  const expectedMicros = priced.reduce((sum, row) => sum + row.expectedMicros, 0);
  return { ok: true, rows: priced, expectedMicros, source, replaced };
}

async function replacedRuns(
  show: Showrunner,
  rows: readonly BulkRow[],
  source: string,
): Promise<readonly RunDocument[]> {
  const current = new Set(rows.map(({ id }) => id));
  const earlier = await show.runs({ tags: { [SOURCE_TAG]: source } });
  const open = earlier.filter(({ runId, status }) => !current.has(runId) && !isRunFinal(status));
  return inOrder(open, undefined, ({ runId }) => show.show(runId));
}

export async function checkEach(
  show: Showrunner,
  pipeline: Pipeline,
  rows: readonly BulkRow[],
  options: Omit<Checking, "known"> = {},
): Promise<readonly BulkProblem[]> {
  return problemsOf(show, pipeline, rows, { ...options, known: await knownRuns(show, rows) });
}

interface Checking extends Pick<BulkQuoteOptions, "profile" | "signal" | "source"> {
  readonly known: ReadonlyMap<string, RunDocument>;
}

async function problemsOf(
  show: Showrunner,
  pipeline: Pipeline,
  rows: readonly BulkRow[],
  { known, profile, signal, source }: Checking,
): Promise<readonly BulkProblem[]> {
  const added = { [BATCH_TAG]: "x", ...(source !== undefined && { [SOURCE_TAG]: "x" }) };
  const plans = await inOrder(rows, signal, async (row, index) => {
    if (known.has(row.id)) return [];
    const planned = await show.plan(pipeline, row.input, { profile });
    const problems = [...optionProblems(row, added), ...(planned.ok ? [] : planned.problems)];
    return problems.map((problem) => ({ ...problem, index }));
  });
  return [...repeatedIds(rows), ...plans.flat()];
}

function optionProblems({ id, tags = {} }: BulkRow, added: Tags): readonly Problem[] {
  const ofTags = Object.entries(tags).flatMap(([key, value]) =>
    problemsIn("invalid-tag", `tags.${key}`, () => checkTags({ [key]: value })),
  );
  return [
    ...problemsIn("invalid-id", "id", () => checkRunId(id)),
    ...(ofTags.length > 0 ? ofTags : problemsIn("invalid-tag", "tags", () => checkTags({ ...tags, ...added }))),
  ];
}

function problemsIn(code: string, field: string, check: () => unknown): readonly Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    return [{ code, step: null, field, message: error.message.replace(`${error.option}: `, "") }];
  }
}

function repeatedIds(rows: readonly BulkRow[]): readonly BulkProblem[] {
  const first = new Map<string, number>();
  return rows.flatMap(({ id }, index): readonly BulkProblem[] => {
    const other = first.get(id);
    if (other === undefined) {
      first.set(id, index);
      return [];
    }
    return [{ code: "repeated-row", step: null, field: null, message: `repeats row ${other + 1}`, index }];
  });
}

async function knownRuns(show: Showrunner, rows: readonly BulkRow[]): Promise<ReadonlyMap<string, RunDocument>> {
  const wanted = new Set(rows.map(({ id }) => id));
  const there = (await show.runs()).filter(({ runId }) => wanted.has(runId));
  const reports = await inOrder(there, undefined, ({ runId }) => show.show(runId));
  return new Map(reports.map((report) => [report.id, report]));
}

/** Derives a batch name from the rows' ids, so that everyone who starts the same rows gets the same name. */
function batchName({ name }: Pipeline, rows: readonly BulkRow[]): string {
  const ids = rows.map(({ id }) => id).toSorted();
  return `${name.slice(0, 60)}-${hash("sha256", ids.join("\n")).slice(0, 8)}`;
}

function knownRow(row: BulkRow, report: RunDocument): QuotedRow {
  const expectedMicros = mostOf(report);
  const quotedMicros = parseUsd(report.quote ?? "") ?? expectedMicros;
  return {
    row,
    expectedMicros,
    maxMicros: expectedMicros,
    openSteps: [],
    quotedMicros,
    known: report.status,
    batch: batchOf(report),
  };
}

function batchOf({ tags }: RunDocument): string | null {
  return tags[BATCH_TAG] ?? null;
}

export function mostOf({ projected }: Pick<RunDocument, "projected">): number {
  return parseUsd(projected)!;
}

async function inOrder<T, R>(
  all: readonly T[],
  signal: AbortSignal | undefined,
  work: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  const queue = new PQueue({ concurrency: AT_ONCE });
  return Promise.all(
    all.map((item, index) =>
      queue.add(() => {
        signal?.throwIfAborted();
        return work(item, index);
      }),
    ),
  ) as Promise<readonly R[]>;
}
