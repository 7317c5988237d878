import { wholeCents } from "../../core/kit/money.ts";
import type { Pipeline, Quote, RunOptions, Showrunner } from "../../index.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { isAgreed } from "../io.ts";
import type { Flags, ServiceFlags } from "../program/flags.ts";
import { visible } from "../text/escape.ts";
import { repeatedCommand } from "../text/next-line.ts";
import { checkAmount, giveUpAfter, tagsOf, waitForCap } from "./flag-values.ts";

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
  context: Context,
): Promise<string | null> {
  if (show.service.kind === "local") return null;
  const { io } = context;
  const most = quote.totalMicros.max ?? quote.expectedMicros;
  const amount = wholeCents(most);
  if (io.ask === null || quote.totalMicros.max === null) {
    throw new CliError(
      "BUDGET_NEEDED",
      `This spends real money at ${show.service.baseUrl}: set the maximum with --budget`,
      {
        next: repeatedCommand(context, "--budget", amount),
      },
    );
  }
  if (await isAgreed(io, `Start, spending at most $${amount}?`)) return amount;
  throw new CliError("NOT_CONFIRMED", "Not started; nothing was spent", {
    next: repeatedCommand(context, "--budget", amount),
  });
}
