import type { Pipeline } from "../../index.ts";
import { CliError } from "../cli-error.ts";
import type { ServiceFlags } from "../context.ts";
import type { EngineFlags } from "../engine.ts";
import { visible } from "../text/escape.ts";
import type { InputFlags } from "./read-input.ts";

/** Flags that change what a plan is and costs. */
export interface QuoteFlags extends ServiceFlags, InputFlags {
  readonly maxUnquoted?: string;
  readonly profile?: string;
  readonly reuse?: boolean;
  readonly concurrency?: string;
  readonly budget?: string;
}

export interface RunFlags extends QuoteFlags {
  readonly id?: string;
  /** What to do when a run of this id exists. */
  readonly onExisting?: "resume" | "fail";
  readonly startAnyway?: boolean;
  readonly out?: string;
  readonly giveUpAfter?: string;
  readonly waitForCap?: string;
  readonly tag?: readonly string[];
  /** Goes on in a process of its own. */
  readonly detach?: boolean;
  /** Goes on in the workers of an engine. */
  readonly engine?: EngineFlags["engine"];
  readonly engineUrl?: EngineFlags["engineUrl"];
  /** A file with one row a run. */
  readonly each?: string;
  readonly atOnce?: string;
}

/** A profile that is for the local service takes it by itself, unless an address was named. */
export function withProfileService<F extends ServiceFlags & { readonly profile?: string }>(
  flags: F,
  { profiles }: Pipeline,
): F {
  const { profile, baseUrl } = flags;
  const isThere = profile !== undefined && Object.hasOwn(profiles, profile);
  const wantsLocal = isThere && profiles[profile]?.service === "local";
  return wantsLocal && baseUrl === undefined ? { ...flags, local: true } : flags;
}

/** `8`, or limits by name: `total=8,video=2,some-model=1`. */
export function parseConcurrency(text: string): number | Readonly<Record<string, number>> {
  if (/^\d+$/.test(text)) return atLeastOne(text, text);
  const limits: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.split("=");
    limits[name.trim()] = atLeastOne(count, text);
  }
  return limits;
}

function atLeastOne(count: string, whole: string): number {
  const number = Number(count);
  if (/^\d+$/.test(count.trim()) && number >= 1) return number;
  throw new CliError("USAGE", `--concurrency ${visible(whole)} is no limit`, {
    next: "write --concurrency 8, or by modality and model: --concurrency total=8,video=2",
  });
}

/** What pricing takes from the flags. */
export function quoteOptions({ maxUnquoted, profile, budget, reuse, concurrency }: QuoteFlags) {
  return {
    maxUnquoted,
    profile,
    budget,
    reuse,
    concurrency: concurrency === undefined ? undefined : parseConcurrency(concurrency),
  };
}
