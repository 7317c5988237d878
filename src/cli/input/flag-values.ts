import { parseDuration } from "../../core/kit/duration.ts";
import { parseUsd } from "../../core/kit/money.ts";
import { usageError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

type Parse = (flag: string, text: string, before?: never) => unknown;

/**
 * Parsers for the values of flags, by the placeholder in the flag's syntax, such as `usd` or `duration`. Values with
 * any other placeholder are not parsed.
 */
export const values = {
  usd: amountOf,
  duration: (flag: string, text: string) => durationOf(flag, text, "90s, 10m, 2h or 7d"),
  "duration|never": (flag: string, text: string) =>
    text === "never" ? Number.POSITIVE_INFINITY : durationOf(flag, text, "90s, 10m, 2h, 7d or never"),
  n: (flag: string, text: string) => wholeNumber(flag, text, [1, 1_000_000], 20),
  "n|0": (flag: string, text: string) => wholeNumber(flag, text, [0, 1_000_000], 20),
  port: (flag: string, text: string) => wholeNumber(flag, text, [1, 65_535], 8080),
  "port|0": (flag: string, text: string) => wholeNumber(flag, text, [0, 65_535], 8080),
  factor: factorOf,
  "requests/seconds": rateLimitOf,
  tag: turnsOf,
  limits: concurrencyOf,
  "key=value": withTag,
} as const satisfies Readonly<Record<string, Parse>>;

function amountOf(flag: string, text: string): string {
  const amount = text.trim().replace(/^\$/, "");
  if (parseUsd(amount) !== null) return amount;
  throw usageError(
    `${flag} ${visible(amount)} is not an amount in US dollars`,
    `write it as ${flag} 5 or ${flag} 2.50`,
  );
}

function wholeNumber(flag: string, text: string, [least, most]: readonly [number, number], example: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  const problem = `${flag} ${visible(text)} is not a whole number from ${least} to ${most}`;
  throw usageError(problem, `write it as ${flag} ${example}`);
}

function durationOf(flag: string, text: string, examples: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw usageError(`${flag} ${visible(text)} is not a duration`, `write it as ${flag} ${examples}`);
}

function factorOf(flag: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && number > 0) return number;
  throw usageError(`${flag} ${visible(text)} is not a number above 0`, `write it as ${flag} 20`);
}

function rateLimitOf(flag: string, text: string): { readonly requests: number; readonly windowMs: number } {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? [];
  if (requests && seconds) return { requests: Number(requests), windowMs: Number(seconds) * 1000 };
  throw usageError(`${flag} ${visible(text)} is not REQUESTS/SECONDS`, `for example ${flag} 600/60`);
}

/** Parses a tag with optional weights: `client`, or `client,acme=3,trial=0.5`. */
function turnsOf(flag: string, text: string) {
  const [tag = "", ...given] = text.split(",");
  const weights = given.map((one): [string, number] => {
    const at = one.lastIndexOf("=");
    return [one.slice(0, Math.max(0, at)), Number(one.slice(at + 1))];
  });
  const isClear = tag !== "" && weights.every(([value, weight]) => value !== "" && Number.isFinite(weight));
  if (isClear) return { tag, weights: Object.fromEntries(weights) };
  const next = `give a tag and optional weights for its values: ${flag} client,acme=3`;
  throw usageError(`${flag} ${visible(text)} must have the form TAG or TAG,VALUE=WEIGHT`, next);
}

type Tags = { readonly [key: string]: string };

function withTag(flag: string, text: string, before: Tags = {}): Tags {
  const at = text.indexOf("=");
  if (at < 1)
    throw usageError(`${flag} ${visible(text)} is not KEY=VALUE`, `write a key and a value: ${flag} team=video`);
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  const other = Object.hasOwn(before, key) ? before[key]! : value;
  if (other === value) return { ...before, [key]: value };
  const problem = `${flag}: ${visible(key)} has two values, ${visible(other)} and ${visible(value)}`;
  throw usageError(problem, "specify each key only once; a run has one value per key");
}

/** Parses a concurrency limit such as `8`, or several limits by name, such as `total=8,video=2,some-model=1`. */
function concurrencyOf(flag: string, text: string): number | Readonly<Record<string, number>> {
  if (/^\d+$/.test(text)) return atLeastOne(flag, text, text);
  const limits: Record<string, number> = Object.create(null);
  for (const part of text.split(",")) {
    const [name = "", count = ""] = part.split("=");
    limits[name.trim()] = atLeastOne(flag, count, text);
  }
  return limits;
}

function atLeastOne(flag: string, count: string, whole: string): number {
  const number = Number(count);
  if (/^\d+$/.test(count.trim()) && number >= 1) return number;
  throw usageError(
    `${flag} ${visible(whole)}: a limit must be a whole number of jobs, at least 1`,
    `use one limit, such as ${flag} 8, or limits by modality or model, such as ${flag} total=8,video=2`,
  );
}
