import type { SpendingCap } from "../../journal/money.ts";
import { type Tags, tagText } from "../../journal/tags.ts";
import { formatUsd } from "../../kit/money.ts";
import type { CapTerms } from "../../run/headroom.ts";
import { InvalidOptionError } from "../errors.ts";
import { type CapOption, usdOption } from "../options/options.ts";
import { ANY_VALUE, parseTag } from "../options/tags.ts";
import { dayAt, instantText } from "./day.ts";

/** A cap, checked. */
export interface CapRule {
  readonly capMicros: number;
  readonly per: "day" | null;
  /** The value `*` stands for each value by itself. */
  readonly tag: { readonly key: string; readonly value: string } | null;
}

/** The rules that a Showrunner keeps to; days are those of the time zone. */
export interface CapRules {
  readonly rules: readonly CapRule[];
  readonly timeZone: string;
}

/** Throws `InvalidOptionError` for a cap that says nothing. */
export function capRule({ usd, per, tag }: CapOption, option = "caps"): CapRule {
  if (per !== undefined && per !== "day") {
    throw new InvalidOptionError(option, `${JSON.stringify(per)} is no period of a cap; use "day" or leave it out.`);
  }
  return {
    capMicros: usdOption(option, usd)!,
    per: per ?? null,
    tag: tag === undefined ? null : parseTag(tag, option, { anyValue: true }),
  };
}

/** Reads a cap as the command line and the environment write it: `50/day`, `team=video:10/day`, `team=*:100`. */
export function parseCap(text: string, option: string): CapRule {
  const found = /^(?:(.+):)?([^:/]+)(\/day)?$/.exec(text.trim());
  if (found === null) {
    throw new InvalidOptionError(
      option,
      `${JSON.stringify(text)} is no cap; write it like 50/day, team=video:10/day or team=*:100.`,
    );
  }
  const [, tag, usd, day] = found;
  return capRule({ usd: usd!, tag, per: day === undefined ? undefined : "day" }, option);
}

/** Caps that are given, with those of the environment for other runs or another time. */
export function replaceCaps(named: readonly CapRule[], given: readonly CapRule[]): readonly CapRule[] {
  const scopeOf = ({ per, tag }: CapRule) => JSON.stringify([per, tag]);
  const replaced = new Set(given.map(scopeOf));
  return [...named.filter((rule) => !replaced.has(scopeOf(rule))), ...given];
}

/** The caps that hold for a run with these tags. */
export function capsFor({ rules, timeZone }: CapRules, tags: Tags, at: number): readonly SpendingCap[] {
  return rules.flatMap(({ capMicros, per, tag }): readonly SpendingCap[] => {
    const value = tag === null ? undefined : Object.hasOwn(tags, tag.key) ? tags[tag.key] : undefined;
    if (tag !== null && (value === undefined || (tag.value !== ANY_VALUE && tag.value !== value))) return [];
    const sinceAt = per === null ? null : dayAt(at, timeZone).startAt;
    return [{ tag: tag === null ? null : tagText(tag.key, value!), sinceAt, capMicros }];
  });
}

/** What is said of a cap when it is reached. */
export function capTerms({ tag, sinceAt, capMicros, isBudget }: SpendingCap, timeZone: string): CapTerms {
  if (isBudget === true) {
    const title = `budget of ${formatUsd(capMicros)} USD of all runs with the tag ${tag}`;
    return { what: "budget", capMicros, title, endsAt: null, resumesAt: null, flag: ["--budget ", ""] };
  }
  const endsAt = sinceAt === null ? null : dayAt(sinceAt, timeZone).endAt;
  const isPlain = tag === null && sinceAt === null;
  const name = `${isPlain ? "spending cap" : "cap"} of ${formatUsd(capMicros)} USD`;
  const day = sinceAt === null ? "" : ` a day (${timeZone})`;
  return {
    what: "cap",
    capMicros,
    title: `${name}${day} over all runs of this journal${tag === null ? "" : ` with the tag ${tag}`}`,
    endsAt,
    resumesAt: endsAt === null ? null : instantText(endsAt, timeZone),
    flag: isPlain
      ? ["--spending-cap ", ""]
      : [`--cap ${tag === null ? "" : `${tag}:`}`, sinceAt === null ? "" : "/day"],
  };
}
