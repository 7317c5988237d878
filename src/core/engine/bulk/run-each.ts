import { join } from "node:path";
import type { Pipeline } from "../../define/index.ts";
import { InvalidOptionError, isShowrunnerError } from "../../kit/errors.ts";
import { formatUsd, parseUsd } from "../../kit/money.ts";
import { BATCH_TAG, checkTags, SOURCE_TAG, type Tags, tagText } from "../../kit/tags.ts";
import type { RunResult } from "../drive/run-result.ts";
import { type RunOptions, usdOption } from "../options/options.ts";
import type { Showrunner } from "../showrunner/showrunner.ts";
import { type BulkQuote, mostOf, type QuotedRow } from "./quote-each.ts";

export interface BulkOptions extends Omit<RunOptions, "id" | "title" | "budget" | "quote" | "onExisting"> {
  /** The maximum total cost of all rows, in US dollars as a decimal string. Default: no limit. */
  readonly budget?: string | undefined;
  /** The maximum number of runs in progress at the same time. Default: 4. */
  readonly atOnce?: number | undefined;
  /** The folder that gets one subfolder per run, named after the run. Default: `out`. */
  readonly outDir?: string | undefined;
  /**
   * Wakes an engine to execute the run. Runs that an engine executes do not count toward `atOnce`. Default: this
   * process executes the runs.
   */
  readonly wake?: ((runId: string) => Promise<void>) | undefined;
  /** Called when a row's run starts or continues. */
  readonly onStart?: ((row: Pick<RowOutcome, "index" | "id">) => void) | undefined;
  /** Called when the outcome of a row is known. */
  readonly onRow?: ((outcome: RowOutcome) => void) | undefined;
}

export interface RowOutcome {
  readonly index: number;
  readonly id: string;
  /**
   * The status of the row's run, or one of these: `refused` (an error prevented the run), `waiting` (the run was not
   * started), `handed` (an engine is executing the run).
   */
  readonly status: RunResult["status"] | "refused" | "waiting" | "handed";
  readonly costMicros: number;
  /** The run's projected total cost at the latest prices, in micro-dollars. */
  readonly projectedMicros: number;
  /** Why the row's run paused, failed, was refused or was not started; otherwise null. */
  readonly message: string | null;
}

/** If a run pauses for one of these reasons, no further rows are started. */
const FOR_ALL: ReadonlySet<string> = new Set(["funds", "cap", "unreachable", "misdirected", "credentials", "stopped"]);
/** Codes of errors that affect only one row. The other rows still run. */
const OF_ONE: ReadonlySet<string> = new Set(["RUN_DIFFERS", "RUN_BUSY", "RUN_TAKEN_OVER", "PLAN_PROBLEMS"]);

/**
 * Starts or continues one run per row, several at a time, and returns the outcomes in row order. All rows share one
 * budget: a row is started only if the remaining budget covers its expected cost. Unfinished runs whose rows were
 * changed or removed are stopped first.
 */
export async function runEach(
  show: Showrunner,
  pipeline: Pipeline,
  { rows, source, replaced }: BulkQuote & { readonly ok: true },
  options: BulkOptions = {},
): Promise<readonly RowOutcome[]> {
  const { budget, atOnce = 4 } = options;
  if (!Number.isSafeInteger(atOnce) || atOnce < 1) {
    throw new InvalidOptionError("atOnce", `${atOnce} is not a valid number of runs; use a whole number above 0.`);
  }
  const budgetMicros = usdOption("budget", budget) ?? Number.POSITIVE_INFINITY;
  const tags = source === null ? options.tags : { ...options.tags, [SOURCE_TAG]: source };
  for (const row of rows) if (row.known === null) checkTags(tagsOf(row, tags));
  const reason = "its row was changed or removed";
  for (const { id } of replaced) await show.stop(id, { reason });
  return new Bulk(show, pipeline, rows, { ...options, tags, budgetMicros, atOnce }).run();
}

function tagsOf({ row, batch }: QuotedRow, tags: Tags | undefined): Tags {
  return { ...tags, ...row.tags, ...(batch !== null && { [BATCH_TAG]: batch }) };
}

interface Settings extends BulkOptions {
  readonly budgetMicros: number;
  readonly atOnce: number;
}

class Bulk {
  readonly #show: Showrunner;
  readonly #pipeline: Pipeline;
  readonly #rows: readonly QuotedRow[];
  readonly #settings: Settings;
  readonly #outcomes: (RowOutcome | undefined)[];
  readonly #running = new Set<Promise<void>>();
  /** Projected cost of the runs started so far, in micro-dollars. */
  #committedMicros: number;
  /** Projected cost of each batch's rows, in micro-dollars. Rows without a batch have the key null. */
  readonly #mostOf = new Map<string | null, number>();
  /** The batch that may spend whatever remains of the budget after the other batches. */
  readonly #main: string | null;
  /** What each batch has spent or reserved for runs that are not among these rows, in micro-dollars. */
  readonly #elsewhere = new Map<string, number>();
  readonly #short: number[] = [];
  #worst = 1;
  #stopped: string | null = null;
  #failure: unknown = null;

  constructor(show: Showrunner, pipeline: Pipeline, rows: readonly QuotedRow[], settings: Settings) {
    this.#show = show;
    this.#pipeline = pipeline;
    this.#rows = rows;
    this.#settings = settings;
    this.#outcomes = rows.map(() => undefined);
    for (const { batch, expectedMicros } of rows) this.#addForecast(batch, expectedMicros);
    const inBatch = rows.filter(({ batch }) => batch !== null);
    this.#main = (inBatch.find(({ known }) => known === null) ?? inBatch[0])?.batch ?? null;
    const there = rows.filter(({ known }) => known !== null);
    this.#committedMicros = there.reduce((sum, { expectedMicros }) => sum + expectedMicros, 0);
    for (const row of there) this.#learn(row, row.expectedMicros);
  }

  async run(): Promise<readonly RowOutcome[]> {
    if (Number.isFinite(this.#settings.budgetMicros)) await this.#readElsewhere();
    for (const [index, quoted] of this.#rows.entries()) {
      await this.#waitForHeadroom(quoted);
      if (this.#stopped !== null) break;
      const driven = this.#drive(index, quoted).finally(() => this.#running.delete(driven));
      this.#running.add(driven);
    }
    await Promise.all(this.#running);
    await this.#again();
    if (this.#failure !== null) throw this.#failure;
    for (const [index, quoted] of this.#rows.entries()) {
      const outcome = this.#outcomes[index];
      const projectedMicros = this.#expected(quoted);
      if (outcome === undefined) {
        const waits = { status: "waiting", costMicros: 0, projectedMicros, message: this.#stopped } as const;
        this.#report({ index, id: quoted.row.id, ...waits });
      } else if (outcome.status === "paused" && outcome.projectedMicros < projectedMicros) {
        this.#outcomes[index] = { ...outcome, projectedMicros };
      }
    }
    return this.#outcomes as readonly RowOutcome[];
  }

  async #waitForHeadroom(quoted: QuotedRow): Promise<void> {
    const { atOnce, budgetMicros, signal } = this.#settings;
    for (;;) {
      const expectedMicros = Math.min(this.#expected(quoted), quoted.maxMicros ?? Number.POSITIVE_INFINITY);
      const neededMicros = quoted.known === null ? expectedMicros : 0;
      if (signal?.aborted) this.#stopped ??= "stopped on request";
      if (this.#stopped !== null) return;
      const fits = this.#committedMicros + neededMicros <= budgetMicros;
      if (fits && this.#running.size < atOnce) return;
      if (this.#running.size === 0) {
        const [taken, all] = [formatUsd(this.#committedMicros), `the budget of ${formatUsd(budgetMicros)} USD`];
        this.#stopped =
          this.#committedMicros > budgetMicros
            ? `the rows already started may cost ${taken} USD, which is more than ${all}`
            : `this row may cost ${formatUsd(neededMicros)} USD, but earlier rows have spent or reserved ${taken} USD of ${all}`;
        return;
      }
      await Promise.race(this.#running);
    }
  }

  async #readElsewhere(): Promise<void> {
    for (const { row, batch } of this.#rows) {
      if (batch === null || batch === this.#main) continue;
      const before = this.#elsewhere.get(batch) ?? (await this.#committedBy(batch));
      const { cost, held } = await this.#show.show(row.id);
      this.#elsewhere.set(batch, before - parseUsd(cost)! - parseUsd(held)!);
    }
  }

  async #committedBy(batch: string): Promise<number> {
    const { spentMicros, heldMicros } = await this.#show.spending({ tag: tagText(BATCH_TAG, batch) });
    return spentMicros + heldMicros;
  }

  #budgetOf({ batch, expectedMicros }: QuotedRow): number {
    if (batch === null) return expectedMicros;
    if (batch !== this.#main) return this.#elsewhere.get(batch)! + this.#mostOf.get(batch)!;
    const others = [...this.#mostOf].filter(([name]) => name !== batch);
    return others.reduce((remaining, [, most]) => Math.max(0, remaining - most), this.#settings.budgetMicros);
  }

  #addForecast(batch: string | null, micros: number): void {
    this.#mostOf.set(batch, (this.#mostOf.get(batch) ?? 0) + micros);
  }

  /** Resumes rows that paused for lack of budget, because other rows may have cost less than expected. */
  async #again(): Promise<void> {
    for (const index of this.#short.splice(0)) {
      if (this.#stopped !== null || this.#committedMicros > this.#settings.budgetMicros) return;
      await this.#drive(index, {
        ...this.#rows[index]!,
        known: "paused",
        expectedMicros: this.#outcomes[index]!.projectedMicros,
      });
    }
  }

  /** Updates the largest factor by which a run has exceeded its quote. The forecasts of other rows are raised by it. */
  #learn({ quotedMicros }: QuotedRow, projectedMicros: number): void {
    if (quotedMicros > 0) this.#worst = Math.max(this.#worst, projectedMicros / quotedMicros);
  }

  #expected({ quotedMicros }: QuotedRow): number {
    return Math.ceil(quotedMicros * this.#worst);
  }

  async #drive(index: number, quoted: QuotedRow): Promise<void> {
    const { row, known, expectedMicros, batch } = quoted;
    const { budgetMicros, atOnce: _, onRow: __, onStart, outDir = "out", tags, wake, ...options } = this.#settings;
    const { budget: ___, ...rest } = options;
    if (known === null) this.#committedMicros += expectedMicros;
    if (known !== "succeeded") onStart?.({ index, id: row.id });
    try {
      const how = {
        ...rest,
        id: row.id,
        title: row.title,
        outDir: outDir.trim() === "" ? outDir : join(outDir, row.id),
        tags: tagsOf(quoted, tags),
        ...(batch !== null && { budgetTag: tagText(BATCH_TAG, batch) }),
        ...(Number.isFinite(budgetMicros) && { budget: formatUsd(this.#budgetOf(quoted)) }),
      };
      if (wake !== undefined) {
        await this.#show.start(this.#pipeline, row.input, how);
        await wake(row.id);
        const handed = { status: "handed", costMicros: 0, projectedMicros: expectedMicros, message: null } as const;
        return this.#report({ index, id: row.id, ...handed });
      }
      const handle = await this.#show.run(this.#pipeline, row.input, how);
      const result = await handle.result();
      const projectedMicros = mostOf(result.report);
      this.#committedMicros += projectedMicros - expectedMicros;
      this.#addForecast(batch, projectedMicros - expectedMicros);
      this.#learn(quoted, projectedMicros);
      const message = result.pause?.message ?? result.report.message;
      const { status, cost, pause } = result;
      const isShort = pause?.flag?.startsWith("--budget ") === true;
      if (isShort) this.#short.push(index);
      this.#report({ index, id: row.id, status, costMicros: cost.micros, projectedMicros, message });
      const isForAll = pause !== null && !isShort && (FOR_ALL.has(pause.reason) || pause.flag !== null);
      if (isForAll) this.#stopped ??= `${row.id}: ${pause.message}`;
    } catch (error) {
      this.#failed(index, row.id, error);
    }
  }

  #failed(index: number, id: string, error: unknown): void {
    const code = isShowrunnerError(error) ? error.code : null;
    const message = error instanceof Error ? error.message : String(error);
    const { expectedMicros: projectedMicros } = this.#rows[index]!;
    this.#report({ index, id, status: "refused", costMicros: 0, projectedMicros, message });
    if (code !== null && OF_ONE.has(code)) return;
    this.#stopped ??= `${id}: ${message}`;
    // An insufficient balance does not fail the bulk run: runs already started continue.
    if (code !== "WALLET_SHORT") this.#failure ??= error;
  }

  #report(outcome: RowOutcome): void {
    this.#outcomes[outcome.index] = outcome;
    this.#settings.onRow?.(outcome);
  }
}
