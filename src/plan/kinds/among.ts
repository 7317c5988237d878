import type { DraftReference } from "../draft.ts";
import type { Reference, Yield } from "../plan.ts";
import { isValueRef } from "./complete-ref.ts";
import { bindOne, checkReadable } from "./free-input.ts";
import type { Planning } from "./kind.ts";

interface Among {
  readonly references: readonly Reference[];
  /** What all of them are; null after a problem. */
  readonly yields: Yield | null;
}

interface What {
  readonly field: string;
  /** Whether a local function reads them. */
  readonly local: boolean;
}

interface Member {
  readonly reference: Reference;
  readonly field: string;
  readonly step: string;
  /** Null when it is not known. */
  readonly yields: Yield | null;
}

/** What is shown, or chosen from: all of one kind. */
export function bindAmong(given: readonly DraftReference[], what: What, planning: Planning): Among {
  const members = given.map((reference, index) => {
    const field = given.length === 1 ? what.field : `${what.field}[${index}]`;
    return bindMember(reference, field, what, planning);
  });
  const first = members.find(({ yields }) => yields !== null);
  for (const { step, yields, field } of members) {
    if (first === undefined || yields === null || yields === first.yields) continue;
    const message = `${step} yields ${say(yields)}, and ${first.step} ${say(first.yields!)}; give results of one kind`;
    planning.report("media-kind", field, message);
  }
  const isKnown = members.length > 0 && members.every(({ yields }) => yields !== null);
  return { references: members.map(({ reference }) => reference), yields: isKnown ? first!.yields : null };
}

function bindMember(given: DraftReference, field: string, what: What, planning: Planning): Member {
  const { step } = given.$ref;
  const source = planning.facts(step);
  const reference = bindOne(given, field, planning, (ref, facts) => {
    if (!what.local) return;
    checkReadable(ref, facts, field, planning);
    if (ref.as !== "value") return;
    const message = `${step} yields a value, and a function scores files; let a task choose among values`;
    planning.report("not-media", field, message);
  });
  if (source?.isOpen === true) {
    const message = `${step} does not declare what it yields; declare it there, such as yields: "image"`;
    planning.report("unknown-yield", field, message);
  }
  if (source === undefined) return { reference, field, step, yields: null };
  const yields = isValueRef(given.$ref, source) ? "value" : (reference.$ref.kind ?? source.yields);
  return { reference, field, step, yields };
}

function say(yields: Yield): string {
  const nouns = { image: "an image", video: "a video", audio: "audio", voice: "a voice", value: "a value" };
  return nouns[yields];
}
