import type { Turn } from "../../api/index.ts";
import { InvalidOptionError } from "../../kit/errors.ts";
import { checkTags, type Tags } from "../../kit/tags.ts";

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
