import type { DraftAsset, DraftJson, DraftReference } from "../../define/draft.ts";
import type { Json } from "../plan.ts";
import type { Place } from "../schema/field.ts";
import type { Planning } from "./kind.ts";
import { checkMediaLiteral } from "./media-literal.ts";
import { placeAsset, placeReference } from "./place-reference.ts";

/** A job's input on its way into the plan. */
export interface PlacedInput {
  /** With complete references, as the plan keeps it. */
  readonly input: Json;
  /** Without references: valid media and voices stand in for them, for the model's schema to look at. */
  readonly sample: Json;
  /** Fields whose value was judged here, which the schema need not judge again. */
  readonly settled: readonly string[];
}

/** One value of an input, planned. `spread` marks a stand-in for several items of the list around it. */
export interface Placed {
  readonly input: Json;
  readonly sample: Json;
  readonly spread?: true;
}

/** Where in the input a value stands. */
export interface Spot {
  readonly field: string;
  /** Null where the schema says nothing. */
  readonly place: Place | null;
  settle(field: string): void;
}

/** Completes the references of a job's input and checks each against the place where it stands. */
export function placeInput(input: DraftJson, place: Place | null, planning: Planning): PlacedInput {
  const settled: string[] = [];
  const spot: Spot = { field: "input", place, settle: (field) => void settled.push(field) };
  return { ...placeValue(input, spot, planning), settled };
}

function placeValue(value: DraftJson, spot: Spot, planning: Planning): Placed {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? checkMediaLiteral(value, spot, planning) : { input: value, sample: value };
  }
  if (isReference(value)) return placeReference(value.$ref, spot, planning);
  if (isAsset(value)) return placeAsset(value.$asset, spot, planning);
  if (Array.isArray(value)) return placeList(value, spot, planning);
  const record = value as { readonly [key: string]: DraftJson };
  const literal = checkMediaLiteral(record, spot, planning);
  return literal.sample === record ? placeRecord(record, spot, planning) : literal;
}

function placeList(list: readonly DraftJson[], spot: Spot, planning: Planning): Placed {
  const items = list.map((item, index) =>
    placeValue(item, { ...spot, field: `${spot.field}[${index}]`, place: spot.place?.item(index) ?? null }, planning),
  );
  return {
    input: items.map((item) => item.input),
    sample: items.flatMap(({ sample, spread }) => (spread && Array.isArray(sample) ? sample : [sample])),
  };
}

function placeRecord(record: { readonly [key: string]: DraftJson }, spot: Spot, planning: Planning): Placed {
  const input: [string, Json][] = [];
  const sample: [string, Json][] = [];
  for (const [key, value] of Object.entries(record)) {
    const inner = { ...spot, field: `${spot.field}.${key}`, place: spot.place?.property(key) ?? null };
    const placed = placeValue(value, inner, planning);
    input.push([key, placed.input]);
    sample.push([key, placed.sample]);
  }
  return { input: Object.fromEntries(input), sample: Object.fromEntries(sample) };
}

function isReference(value: object): value is DraftReference {
  return "$ref" in value;
}

function isAsset(value: object): value is DraftAsset {
  return "$asset" in value;
}
