import type { DraftReference } from "../../define/draft.ts";
import type { Reference, Yield } from "../plan.ts";
import { isValueRef } from "./complete-ref.ts";
import { checkReadable, placeOne } from "./free-input.ts";
import type { Planning } from "./kind.ts";

interface Among {
  readonly references: readonly Reference[];
  /** What all of them are; null after a problem. */
  readonly yields: Yield | null;
}

interface What {
  readonly field: string;
  /** Whether one of them is chosen. */
  readonly choose: boolean;
  /** Whether a local function looks at them. */
  readonly local: boolean;
}

/** What is shown, or chosen from: all of one kind, and no values where one is chosen. */
export function placeAmong(given: readonly DraftReference[], what: What, planning: Planning): Among {
  const at = (index: number) => (given.length === 1 ? what.field : `${what.field}[${index}]`);
  let first: { readonly step: string; readonly yields: Yield } | null = null;
  let isKnown = given.length > 0;
  const references = given.map((reference, index) => {
    const { step } = reference.$ref;
    const source = planning.facts(step);
    const placed = placeOne(reference, at(index), planning, (ref, facts, field) => {
      if (what.local) checkReadable(ref, facts, field, planning);
    });
    if (source?.isOpen === true) {
      const message = `${step} does not say beforehand what it yields; say it there, such as yields: "image"`;
      planning.report("unknown-yield", at(index), message);
    }
    const yields =
      source === undefined ? null : isValueRef(reference.$ref, source) ? "value" : yieldsOf(placed, source.yields);
    if (yields === null) isKnown = false;
    else if (yields === "value" && what.choose) {
      isKnown = false;
      planning.report(
        "not-media",
        at(index),
        `${step} yields a value; choose among media or voices, and let a task choose values`,
      );
    } else if (first === null) first = { step, yields };
    else if (first.yields !== yields) {
      const message = `${step} yields ${say(yields)}, and ${first.step} ${say(first.yields)}; give results of one kind`;
      planning.report("media-kind", at(index), message);
    }
    return placed;
  });
  const found = first as { readonly yields: Yield } | null;
  return { references, yields: isKnown && found !== null ? found.yields : null };
}

function yieldsOf({ $ref }: Reference, yields: Yield | null): Yield | null {
  return $ref.kind ?? yields;
}

function say(yields: Yield): string {
  const words = { image: "an image", video: "a video", audio: "audio", voice: "a voice", value: "a value" };
  return words[yields];
}
