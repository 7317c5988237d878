import type { Turn } from "../../api/index.ts";
import type { Tags } from "../../journal/tags.ts";
import { InvalidOptionError } from "../errors.ts";
import { checkTags } from "./tags.ts";

/** Between whom turns go round where requests or functions wait in line. */
export interface TurnsOption {
  /** Runs with one value of this tag have their turns together, and go round among themselves; so have all without the tag. */
  readonly tag: string;
  /** Turns of a value for each one of the others, 0.01 to 100: `{ acme: 3 }`. Default 1. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
}

/** Throws {@link InvalidOptionError}. */
export function checkTurns(turns: TurnsOption | undefined): void {
  if (turns === undefined) return;
  const { tag, weights = {} } = turns;
  checkTags({ [tag]: "x" }, "turns");
  for (const [value, weight] of Object.entries(weights)) {
    checkTags({ [tag]: value }, "turns");
    if (weight >= 0.01 && weight <= 100) continue;
    throw new InvalidOptionError(
      "turns",
      `the weight ${weight} of ${tag}=${value} is none; use a number from 0.01 to 100.`,
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
