import { parseDuration } from "../../core/kit/duration.ts";
import { parseUsd } from "../../internal.ts";
import { CliError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

/** Refuses an amount of dollars that is none, before anything is opened. */
export function checkAmount(flag: string, value: string | undefined): void {
  if (value === undefined || parseDollars(value) !== null) return;
  throw new CliError("USAGE", `${flag} ${visible(value)} is not an amount of US dollars`, {
    next: `write it as ${flag} 5 or ${flag} 2.50`,
  });
}

/** A whole number from 0 to `most`; `example` is one that would do. */
export function wholeNumber(flag: string, text: string, most: number, example: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= most) return number;
  throw new CliError("USAGE", `${flag} ${visible(text)} is not a number from 0 to ${most}`, {
    next: `write it as ${flag} ${example}`,
  });
}

/** A decimal amount of dollars typed by a person, with or without its sign; null for what is no amount. */
export function parseDollars(text: string): number | null {
  return parseUsd(text.trim().replace(/^\$/, ""));
}

/** How long to wait for an unavailable service; empty where no flag was given. */
export function giveUpAfter(text: string | undefined): { readonly giveUpAfterMs?: number } {
  if (text === undefined) return {};
  if (text === "never") return { giveUpAfterMs: Number.POSITIVE_INFINITY };
  return { giveUpAfterMs: readDuration("--give-up-after", text, "10m, 90s or never") };
}

/** How long to stay when the cap of a day is reached; empty where no flag was given. */
export function waitForCap(text: string | undefined): { readonly waitForCapMs?: number } {
  return text === undefined ? {} : { waitForCapMs: readDuration("--wait-for-cap", text, "30h or 7d") };
}

/** `customer`, or with weights: `customer,acme=3,trial=0.5`. */
export function turnsOf(text: string): { readonly tag: string; readonly weights: Readonly<Record<string, number>> } {
  const [tag = "", ...given] = text.split(",");
  const weights = given.map((one): [string, number] => {
    const at = one.lastIndexOf("=");
    return [one.slice(0, Math.max(0, at)), Number(one.slice(at + 1))];
  });
  const isClear = tag !== "" && weights.every(([value, weight]) => value !== "" && Number.isFinite(weight));
  if (isClear) return { tag, weights: Object.fromEntries(weights) };
  const next = "name a tag, and weights of some of its values: --turns customer,acme=3";
  throw new CliError("USAGE", `--turns ${visible(text)} is not understood`, { next });
}

/** The tags of `--tag key=value`; undefined where none was given. */
export function tagsOf(given: readonly string[] | undefined): { readonly [key: string]: string } | undefined {
  return given === undefined ? undefined : Object.fromEntries(given.map(tagOf));
}

function tagOf(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new CliError("USAGE", `--tag ${visible(text)} is not a tag`, { next: "write key and value: --tag team=video" });
}

/** Milliseconds of a flag's duration; refuses what is none, before anything is opened. */
export function readDuration(flag: string, text: string, examples: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new CliError("USAGE", `${flag} ${visible(text)} is not a duration`, {
    next: `write it as ${flag} ${examples}`,
  });
}

export { formatDuration as duration } from "../../internal.ts";

/** `600/60`: requests and the seconds that they are counted in. Throws {@link CliError}. */
export function parseRateLimit(text: string): { readonly requests: number; readonly windowMs: number } {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? [];
  if (requests && seconds) return { requests: Number(requests), windowMs: Number(seconds) * 1000 };
  throw new CliError("USAGE", `--rate-limit ${visible(text)} is not a limit`, {
    next: "write requests and seconds: --rate-limit 600/60",
  });
}
