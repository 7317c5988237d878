import { parseDuration } from "../../core/kit/duration.ts";
import { parseUsd } from "../../core/kit/money.ts";
import { usageError } from "../cli-error.ts";
import { visible } from "../text/escape.ts";

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

/** Parses a tag with optional weights: `customer`, or `customer,acme=3,trial=0.5`. */
export function turnsOf(text: string): { readonly tag: string; readonly weights: Readonly<Record<string, number>> } {
  const [tag = "", ...given] = text.split(",");
  const weights = given.map((one): [string, number] => {
    const at = one.lastIndexOf("=");
    return [one.slice(0, Math.max(0, at)), Number(one.slice(at + 1))];
  });
  const isClear = tag !== "" && weights.every(([value, weight]) => value !== "" && Number.isFinite(weight));
  if (isClear) return { tag, weights: Object.fromEntries(weights) };
  const next = "give a tag and optional weights for its values: --turns customer,acme=3";
  throw usageError(`--turns ${visible(text)} is not a tag with weights`, next);
}

export function tagsOf(given: readonly string[] | undefined): { readonly [key: string]: string } | undefined {
  if (given === undefined) return undefined;
  const tags = new Map<string, string>();
  for (const [key, value] of given.map(tagOf)) {
    const other = tags.get(key) ?? value;
    if (other !== value) {
      const problem = `--tag: ${visible(key)} has two values, ${visible(other)} and ${visible(value)}`;
      throw usageError(problem, "give each key once; a run has one value per key");
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

/** Parses a number of requests per number of seconds, such as `600/60`. */
export function parseRateLimit(text: string): { readonly requests: number; readonly windowMs: number } {
  const [, requests, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,6})$/.exec(text) ?? [];
  if (requests && seconds) return { requests: Number(requests), windowMs: Number(seconds) * 1000 };
  throw usageError(`--rate-limit ${visible(text)} is not REQUESTS/SECONDS`, "for example --rate-limit 600/60");
}
