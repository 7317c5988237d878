import { CliError } from "../cli-error.ts";
import { visible } from "./escape.ts";

/** How long to wait for an unavailable service; empty where no flag was given. */
export function giveUpAfter(text: string | undefined): { readonly giveUpAfterMs?: number } {
  if (text === undefined) return {};
  if (text === "never") return { giveUpAfterMs: Number.POSITIVE_INFINITY };
  return { giveUpAfterMs: readDuration("--give-up-after", text, "10m, 90s or never") };
}

/** Milliseconds of a flag's duration; refuses what is none, before anything is opened. */
export function readDuration(flag: string, text: string, examples: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new CliError("USAGE", `${flag} ${visible(text)} is no duration`, { next: `write it as ${flag} ${examples}` });
}

export { formatDuration as duration } from "../../index.ts";

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a duration such as `90s`, `10m` or `1h30m`; null for what is none. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * units[unit as keyof typeof units];
  }
  return Math.round(total);
}
