import { wholeCents } from "../../core/kit/money.ts";
import type { Pipeline, Quote, RunOptions, Showrunner } from "../../index.ts";
import { CliError, usageError } from "../cli-error.ts";
import { type Io, isAgreed } from "../io.ts";
import type { Flags, ServiceFlags, TableFlags } from "../program/flags.ts";
import { repeatedCommand } from "../text/next-line.ts";

export function checkWorkerFlags({ engine = "timers", engineUrl, once }: Flags["worker"]): void {
  if (engine === "timers" && engineUrl !== undefined) {
    throw usageError("--engine-url has no effect without --engine pg-boss or restate", "add --engine pg-boss");
  }
  if (engine !== "timers" && once) {
    const next = "omit --once and stop the worker with SIGTERM, or use showrunner worker --once without --engine";
    throw usageError("--once has no effect with --engine pg-boss or restate", next);
  }
}

/**
 * Refuses table flags that have no effect: `--delimiter` and `--encoding` without a table file, and `--delimiter` with
 * JSON Lines.
 */
export function checkTableFlags(flags: Partial<Pick<Flags["run"], "each" | "i" | keyof TableFlags>>): void {
  const { each, encoding, delimiter, i = [] } = flags;
  if (i.some((field) => /^[^=:]+=@.+\.csv$/i.test(field))) return;
  const flag = delimiter !== undefined ? "--delimiter" : "--encoding";
  if (each === undefined && (delimiter ?? encoding) !== undefined)
    throw usageError(`${flag} has no effect without a table file`, `omit ${flag}`);
  if (delimiter !== undefined && /\.(?:jsonl|ndjson)$/i.test(each ?? ""))
    throw usageError("--delimiter has no effect on JSON lines", "omit --delimiter");
}

export function checkRunFlags(flags: Flags["run"]): void {
  const { each, quote, onExisting, engine, waitForCap } = flags;
  if (each !== undefined && quote !== undefined) {
    const next = "omit --quote, and set the maximum cost of all rows with --budget USD";
    throw usageError("--quote: a quote is for a single run, so it cannot be used with --each", next);
  }
  if (each !== undefined && onExisting === "fail") {
    const problem = "--on-existing fail cannot be used with --each: if a row already has a run, --each continues it";
    throw usageError(problem, "omit --on-existing; to run the same rows again, give them new run ids with --id NAME");
  }
  checkTableFlags(flags);
  if (engine !== undefined && waitForCap !== undefined) {
    const next = "omit --wait-for-cap: workers continue on their own when the next day begins";
    throw usageError("--wait-for-cap has no effect with --engine", next);
  }
}

export function withProfileService<F extends ServiceFlags & { readonly profile?: string | undefined }>(
  flags: F,
  { profiles }: Pipeline,
): F {
  const { profile, service, baseUrl } = flags;
  const isThere = profile !== undefined && Object.hasOwn(profiles, profile);
  const wantsLocal = isThere && profiles[profile]?.service === "local";
  return wantsLocal && service === undefined && baseUrl === undefined ? { ...flags, local: true } : flags;
}

type QuoteFlags = Pick<Flags["run"], "maxUnquoted" | "profile" | "budget" | "reuse" | "concurrency">;

export function quoteOptions({ maxUnquoted, profile, budget, reuse, concurrency }: QuoteFlags) {
  return { maxUnquoted, profile, budget, reuse, concurrency };
}

export function runOptions(
  flags: Flags["run"],
  loaded: { readonly file: string; readonly exportName: string },
): RunOptions {
  return {
    source: { file: loaded.file, exportName: loaded.exportName },
    ...quoteOptions(flags),
    giveUpAfterMs: flags.giveUpAfter,
    waitForCapMs: flags.waitForCap,
    tags: flags.tag,
    id: flags.id,
    quote: flags.quote,
    onExisting: flags.onExisting,
    outDir: flags.out,
    marks: flags.marks,
  };
}

/** Asks the user to confirm the maximum price, and returns it in US dollars; undefined for the local service. */
export async function agreedPrice(
  show: Showrunner,
  quote: Pick<Quote, "totalMicros" | "expectedMicros">,
  { io, args }: { readonly io: Pick<Io, "ask">; readonly args: readonly string[] },
): Promise<string | undefined> {
  if (show.service.kind === "local") return undefined;
  const amount = wholeCents(quote.totalMicros.max ?? quote.expectedMicros);
  const next = repeatedCommand({ args }, "--budget", amount);
  if (io.ask === null || quote.totalMicros.max === null) {
    const message = `This spends real money at ${show.service.baseUrl}: set the maximum with --budget`;
    throw new CliError("BUDGET_NEEDED", message, { next });
  }
  if (await isAgreed(io, `Start, spending at most $${amount}?`)) return amount;
  throw new CliError("NOT_CONFIRMED", "Not started; nothing was spent", { next });
}
