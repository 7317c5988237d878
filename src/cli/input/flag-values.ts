import { parseDuration } from "../../core/kit/duration.ts";
import { parseUsd, wholeCents } from "../../core/kit/money.ts";
import type { Pipeline, Quote, RunOptions, Showrunner } from "../../index.ts";
import { CliError, usageError } from "../cli-error.ts";
import { type Io, isAgreed } from "../io.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";

export function checkAmount(flag: string, value: string | undefined): void {
  if (value === undefined || parseDollars(value) !== null) return;
  throw usageError(`${flag} ${visible(value)} is not an amount of US dollars`, `write it as ${flag} 5 or ${flag} 2.50`);
}

export function wholeNumber(
  flag: string,
  text: string,
  [least, most]: readonly [number, number],
  example: number,
): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  const problem = `${flag} ${visible(text)} is not a whole number from ${least} to ${most}`;
  throw usageError(problem, `write it as ${flag} ${example}`);
}

export const PORTS = [0, 65_535] as const;

export function parseDollars(text: string): number | null {
  return parseUsd(text.trim().replace(/^\$/, ""));
}

export function giveUpAfter(text: string | undefined): { readonly giveUpAfterMs?: number } {
  if (text === undefined) return {};
  if (text === "never") return { giveUpAfterMs: Number.POSITIVE_INFINITY };
  return { giveUpAfterMs: readDuration("--give-up-after", text, "10m, 90s or never") };
}

export function waitForCap(text: string | undefined): { readonly waitForCapMs?: number } {
  return text === undefined ? {} : { waitForCapMs: readDuration("--wait-for-cap", text, "30h or 7d") };
}

/** Parses a tag with optional weights: `client`, or `client,acme=3,trial=0.5`. */
export function turnsOf(text: string): { readonly tag: string; readonly weights: Readonly<Record<string, number>> } {
  const [tag = "", ...given] = text.split(",");
  const weights = given.map((one): [string, number] => {
    const at = one.lastIndexOf("=");
    return [one.slice(0, Math.max(0, at)), Number(one.slice(at + 1))];
  });
  const isClear = tag !== "" && weights.every(([value, weight]) => value !== "" && Number.isFinite(weight));
  if (isClear) return { tag, weights: Object.fromEntries(weights) };
  const next = "give a tag and optional weights for its values: --turns client,acme=3";
  throw usageError(`--turns ${visible(text)} is not of the form TAG or TAG,VALUE=WEIGHT`, next);
}

export function tagsOf(given: readonly string[] | undefined): { readonly [key: string]: string } | undefined {
  if (given === undefined) return undefined;
  const tags = new Map<string, string>();
  for (const [key, value] of given.map(tagOf)) {
    const other = tags.get(key) ?? value;
    if (other !== value) {
      const problem = `--tag: ${visible(key)} has two values, ${visible(other)} and ${visible(value)}`;
      throw usageError(problem, "specify each key only once; a run has one value per key");
    }
    tags.set(key, value);
  }
  return Object.fromEntries(tags);
}

function tagOf(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(`--tag ${visible(text)} is not KEY=VALUE`, "write a key and a value: --tag team=video");
}

export function readDuration(flag: string, text: string, examples: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw usageError(`${flag} ${visible(text)} is not a duration`, `write it as ${flag} ${examples}`);
}

export function parseRateLimit(text: string): { readonly requests: number; readonly windowMs: number } {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? [];
  if (requests && seconds) return { requests: Number(requests), windowMs: Number(seconds) * 1000 };
  throw usageError(`--rate-limit ${visible(text)} is not REQUESTS/SECONDS`, "for example --rate-limit 600/60");
}

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

/** Refuses table flags that have no effect: all of them without a table file, and `--delimiter` with JSON Lines. */
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
    throw usageError("--on-existing fail cannot be used with --each, which continues the existing run of a row", next);
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

export function withProfileService<F extends ServiceFlags & { readonly profile?: string | undefined }>(
  flags: F,
  { profiles }: Pipeline,
): F {
  const { profile, service, baseUrl } = flags;
  const isThere = profile !== undefined && Object.hasOwn(profiles, profile);
  const wantsLocal = isThere && profiles[profile]?.service === "local";
  return wantsLocal && service === undefined && baseUrl === undefined ? { ...flags, local: true } : flags;
}

/** Parses `8`, or several limits by name: `total=8,video=2,some-model=1`. */
export function parseConcurrency(text: string): number | Readonly<Record<string, number>> {
  if (/^\d+$/.test(text)) return atLeastOne(text, text);
  const limits: Record<string, number> = Object.create(null);
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.split("=");
    limits[name.trim()] = atLeastOne(count, text);
  }
  return limits;
}

function atLeastOne(count: string, whole: string): number {
  const number = Number(count);
  if (/^\d+$/.test(count.trim()) && number >= 1) return number;
  throw usageError(
    `--concurrency ${visible(whole)}: a limit must be a whole number of jobs, at least 1`,
    "write --concurrency 8, or limits by modality and model: --concurrency total=8,video=2",
  );
}

type QuoteFlags = Pick<Flags["run"], "maxUnquoted" | "profile" | "budget" | "reuse" | "concurrency">;

export function quoteOptions({ maxUnquoted, profile, budget, reuse, concurrency }: QuoteFlags) {
  return {
    maxUnquoted,
    profile,
    budget,
    reuse,
    concurrency: concurrency === undefined ? undefined : parseConcurrency(concurrency),
  };
}

export function runOptions(
  flags: Flags["run"],
  loaded: { readonly file: string; readonly exportName: string },
): RunOptions {
  checkAmount("--budget", flags.budget);
  checkAmount("--max-unquoted", flags.maxUnquoted);
  return {
    source: { file: loaded.file, exportName: loaded.exportName },
    ...quoteOptions(flags),
    ...giveUpAfter(flags.giveUpAfter),
    ...waitForCap(flags.waitForCap),
    tags: tagsOf(flags.tag),
    id: flags.id,
    quote: flags.quote,
    onExisting: flags.onExisting,
    outDir: flags.out,
    marks: flags.marks,
  };
}

/** Returns the price that the user agreed to, or null for the local service. */
export async function agreedPrice(
  show: Showrunner,
  quote: Pick<Quote, "totalMicros" | "expectedMicros">,
  { io, args }: { readonly io: Pick<Io, "ask">; readonly args: readonly string[] },
): Promise<string | null> {
  if (show.service.kind === "local") return null;
  const amount = wholeCents(quote.totalMicros.max ?? quote.expectedMicros);
  const next = repeatedCommand({ args }, "--budget", amount);
  if (io.ask === null || quote.totalMicros.max === null) {
    const message = `This spends real money at ${show.service.baseUrl}: set the maximum with --budget`;
    throw new CliError("BUDGET_NEEDED", message, { next });
  }
  if (await isAgreed(io, `Start, spending at most $${amount}?`)) return amount;
  throw new CliError("NOT_CONFIRMED", "Not started; nothing was spent", { next });
}
