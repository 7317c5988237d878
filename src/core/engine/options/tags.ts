import type { Turn } from "../../api/index.ts";
import { BATCH_TAG, SOURCE_TAG, type Tags } from "../../journal/tags.ts";
import { InvalidOptionError } from "../errors.ts";

const MOST_TAGS = 8;
const KEY = /^[A-Za-z][A-Za-z0-9._-]{0,39}$/;
/** Printable characters, with no space at either end. */
const VALUE = /^[^\p{C}\p{Z}](?:[^\p{C}]{0,78}[^\p{C}\p{Z}])?$/u;
/** A cap on the tag `team=*` applies to each team separately. */
export const ANY_VALUE = "*";

export function checkTags(tags: Tags | undefined, option = "tags"): Tags {
  const entries = Object.entries(tags ?? {});
  if (entries.length > MOST_TAGS) {
    const added = entries.filter(([key]) => key === BATCH_TAG || key === SOURCE_TAG).length;
    const why = added === 0 ? "" : ` The bulk start adds ${added} of them.`;
    throw new InvalidOptionError(
      option,
      `${entries.length} tags are too many; a run can have at most ${MOST_TAGS}.${why}`,
    );
  }
  for (const [key, value] of entries) checkTag(key, value, option);
  return Object.fromEntries(entries.toSorted(([first], [second]) => (first < second ? -1 : 1)));
}

export function parseTag(
  text: string,
  option: string,
  { anyValue = false } = {},
): { readonly key: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at < 0) throw new InvalidOptionError(option, `${JSON.stringify(text)} is not a tag; write it like team=video.`);
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  if (!anyValue || value !== ANY_VALUE) checkTag(key, value, option);
  else if (!KEY.test(key)) throw badKey(key, option);
  return { key, value };
}

function checkTag(key: string, value: string, option: string): void {
  if (!KEY.test(key)) throw badKey(key, option);
  if (typeof value === "string" && value !== ANY_VALUE && VALUE.test(value)) return;
  throw new InvalidOptionError(
    option,
    `${JSON.stringify(value)} is not a valid value of the tag ${key}; use 1 to 80 printable characters, without spaces at either end. "*" alone is reserved.`,
  );
}

function badKey(key: string, option: string): InvalidOptionError {
  return new InvalidOptionError(
    option,
    `${JSON.stringify(key)} is not a valid tag key; use a letter, then up to 39 letters, digits, ".", "_" and "-".`,
  );
}

/** How queued requests or functions take turns. */
export interface TurnsOption {
  /** The tag whose values take turns. Runs with the same value share its turns; so do all runs without the tag. */
  readonly tag: string;
  /** How many turns each value gets relative to others, from 0.01 to 100, such as `{ acme: 3 }`. Default 1. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
}

export function checkTurns(turns: TurnsOption | undefined): void {
  if (turns === undefined) return;
  const { tag, weights = {} } = turns;
  checkTags({ [tag]: "x" }, "turns");
  for (const [value, weight] of Object.entries(weights)) {
    checkTags({ [tag]: value }, "turns");
    if (weight >= 0.01 && weight <= 100) continue;
    throw new InvalidOptionError(
      "turns",
      `the weight ${weight} of ${tag}=${value} is not valid; use a number from 0.01 to 100.`,
    );
  }
}

export function turnOf(run: string, tags: Tags, turns: TurnsOption | undefined): Turn {
  if (turns === undefined) return { share: `run ${run}`, run };
  const value = Object.hasOwn(tags, turns.tag) ? tags[turns.tag]! : null;
  const weights = turns.weights ?? {};
  const weight = value !== null && Object.hasOwn(weights, value) ? weights[value] : 1;
  return { share: value === null ? "untagged" : `${turns.tag}=${value}`, weight, run };
}
