import { usageError } from "../cli-error.ts";
import type { Flags } from "../program/flags.ts";

type Misplaced = readonly [flag: string, given: unknown, next: string];

function refuse(misplaced: readonly Misplaced[], where: string): void {
  const found = misplaced.find(([, given]) => given !== undefined && given !== false);
  if (found === undefined) return;
  const [flag, , next] = found;
  throw usageError(`${flag} has no effect ${where}`, next);
}

export function checkWorkerFlags(flags: Flags["worker"]): void {
  if (flags.healthPort === undefined && flags.webhooks === undefined) {
    refuse([["--host", flags.host, "add --health-port 8080"]], "without --health-port or --webhooks");
  }
  const { once } = flags;
  if (flags.engine === undefined || flags.engine === "timers") {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine pg-boss or restate");
  }
  const next = "omit --once and end the worker with SIGTERM, or use showrunner worker --once without --engine";
  refuse([["--once", once, next]], "with --engine pg-boss or restate");
}

/** `.csv` and `.tsv` files are tables; `.jsonl` files only have an encoding. */
export function checkTableFlags(
  flags: Partial<Pick<Flags["run"], "each" | "idColumn" | "i" | "encoding" | "delimiter">>,
): void {
  const { each, idColumn, encoding, delimiter, i = [] } = flags;
  if (each === undefined) refuse([["--id-column", idColumn, "add --each ROWS.csv"]], "without --each");
  if (i.some((field) => /^[^=:]+=@.+\.csv$/i.test(field))) return;
  const ofDelimiter: Misplaced = ["--delimiter", delimiter, "omit --delimiter"];
  if (each === undefined) refuse([ofDelimiter, ["--encoding", encoding, "omit --encoding"]], "without a table file");
  else if (/\.(?:jsonl|ndjson)$/i.test(each)) refuse([ofDelimiter], "on JSON lines");
}

function checkEachFlags({ each, atOnce, quote, onExisting }: Flags["run"]): void {
  if (each === undefined) {
    const next = "to limit the parallel jobs of one run, use --concurrency N";
    return refuse([["--at-once", atOnce, next]], "without --each");
  }
  if (quote !== undefined) {
    const next = "omit --quote, and set the maximum cost of all rows with --budget USD";
    throw usageError("--quote: a quote is for a single run, so it cannot be used with --each", next);
  }
  if (onExisting === "fail") {
    const next = "omit --on-existing; to run the same rows again, give them new run ids with --id NAME";
    throw usageError("--on-existing fail: cannot be used with --each, which continues the existing runs of rows", next);
  }
}

export function checkRunFlags(flags: Flags["run"]): void {
  checkEachFlags(flags);
  checkTableFlags(flags);
  if (flags.engine === undefined) {
    return refuse([["--engine-url", flags.engineUrl, "add --engine pg-boss"]], "without --engine");
  }
  if (flags.detach !== true)
    refuse([["--engine", flags.engine, "add --detach"]], "without --detach: this process drives the run");
  const next = "omit --wait-for-cap: workers continue on their own when the next day begins";
  refuse([["--wait-for-cap", flags.waitForCap, next]], "with --engine");
}
