import type { DraftAsset, DraftCondition, DraftJson, DraftReference, DraftStep } from "../draft.ts";
import { mapRecord } from "../plain-json.ts";
import type { Condition, Json, Reference, Yield } from "../plan.ts";
import { completeRef, isValueRef, type StepFacts } from "./facts.ts";
import type { Planning } from "./kind.ts";

export interface Accepts {
  reference(ref: Reference["$ref"], source: StepFacts, field: string): void;
  /** What to suggest instead of an asset of the account. Null if assets are allowed. */
  readonly assets: string | null;
}

export function bindFreeInput(value: DraftJson, field: string, planning: Planning, accepts: Accepts): Json {
  if (typeof value !== "object" || value === null) return value;
  if (isDraftReference(value)) return bindOne(value, field, planning, accepts.reference) as unknown as Json;
  if (isAsset(value)) {
    const { assetId } = value.$asset;
    if (accepts.assets !== null) planning.report("asset-here", field, `${field} is ${assetId}; ${accepts.assets}`);
    return { source: "asset", asset_id: assetId };
  }
  if (Array.isArray(value)) {
    return value.map((item: DraftJson, index) => bindFreeInput(item, `${field}[${index}]`, planning, accepts));
  }
  return mapRecord(value as { readonly [key: string]: DraftJson }, (item, key) =>
    bindFreeInput(item, key === "$text" ? field : `${field}.${key}`, planning, accepts),
  );
}

export function bindOne(
  { $ref }: DraftReference,
  field: string,
  planning: Planning,
  check: Accepts["reference"],
): Reference {
  const source = planning.facts($ref.step);
  if (source === undefined) return { $ref: { step: $ref.step, as: "asset", output: 0 } };
  const bound = completeRef($ref, source, (code, message, more) => planning.report(code, field, message, more));
  if (source.yields !== null || source.isOpen === true) check(bound, source, field);
  return { $ref: bound };
}

export function bindValue(reference: DraftReference, field: string, planning: Planning, next: string): Reference {
  const source = planning.facts(reference.$ref.step);
  const isMedia = source !== undefined && source.yields !== null && !isValueRef(reference.$ref, source);
  const isOpen = source?.isOpen === true;
  if (!isMedia && !isOpen) return bindOne(reference, field, planning, () => {});
  const { step } = reference.$ref;
  const outcome = isOpen ? "does not declare that it yields values" : "does not yield a value";
  planning.report("not-a-value", field, `${step} ${outcome}; ${next}`);
  return { $ref: { step, as: "value", output: 0 } };
}

export function checkReadable(ref: Reference["$ref"], source: StepFacts, field: string, { report }: Planning): void {
  if (source.keeps || ref.as === "value" || ref.as === "voice") return;
  const message = `${ref.step} keeps no copy (keep: false), but a local function reads files on this machine; remove keep: false from ${ref.step}`;
  report("not-kept", field, message);
}

export function needsOf(step: DraftStep, ...used: readonly unknown[]): readonly string[] {
  const { when, after } = step;
  const condition = when === null ? [] : "failed" in when ? [when.failed] : [when.ref.$ref.step];
  const needs = new Set([...after, ...condition]);
  for (const part of used) addSteps(part, needs);
  return needs.size > 1 ? [...needs].sort() : [...needs];
}

function addSteps(value: unknown, to: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  if ("$ref" in value) to.add((value as DraftReference).$ref.step);
  else for (const inner of Object.values(value)) addSteps(inner, to);
}

export function bindWhen(when: DraftCondition | null, planning: Planning): { readonly when?: Condition } {
  if (when === null) return {};
  if ("failed" in when) return { when };
  const next =
    "set `when` to the value of a step, such as a chat's answer or one of its fields; to test for a failure, use failed(step)";
  const { $ref: ref } = bindValue(when.ref, "when", planning, next);
  return { when: "equals" in when ? { ref, equals: when.equals } : { ref, is: when.is } };
}

export function isDraftReference(value: object): value is DraftReference {
  return "$ref" in value;
}

export function isAsset(value: object): value is DraftAsset {
  return "$asset" in value;
}

interface Among {
  readonly references: readonly Reference[];
  readonly yields: Yield | null;
}

interface What {
  readonly field: string;
  readonly local: boolean;
}

interface Member {
  readonly reference: Reference;
  readonly field: string;
  readonly step: string;
  readonly yields: Yield | null;
}

export function bindAmong(given: readonly DraftReference[], what: What, planning: Planning): Among {
  const members = given.map((reference, index) => {
    const field = given.length === 1 ? what.field : `${what.field}[${index}]`;
    return bindMember(reference, field, what, planning);
  });
  const first = members.find(({ yields }) => yields !== null);
  for (const { step, yields, field } of members) {
    if (first === undefined || yields === null || yields === first.yields) continue;
    const message = `${step} yields ${say(yields)}, but ${first.step} yields ${say(first.yields!)}; use results of one kind`;
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
    const message = `${step} yields a value, but a scoring function accepts only files; use a task to choose among values`;
    planning.report("not-media", field, message);
  });
  if (source?.isOpen === true) {
    const message = `${step} does not declare what it yields; give it the option \`yields\`, such as yields: "image"`;
    planning.report("unknown-yield", field, message);
  }
  if (source === undefined) return { reference, field, step, yields: null };
  const yields = isValueRef(given.$ref, source) ? "value" : (reference.$ref.kind ?? source.yields);
  return { reference, field, step, yields };
}

function say(yields: Yield): string {
  const nouns = {
    image: "an image",
    video: "a video",
    audio: "audio",
    text: "text",
    voice: "a voice",
    value: "a value",
  };
  return nouns[yields];
}
