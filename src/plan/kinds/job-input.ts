import type { DraftJson } from "../draft.ts";
import type { Json } from "../plan.ts";
import type { SchemaLocation } from "../schema/field.ts";
import { bindAsset, bindReference, bindText, checkMediaLiteral } from "./bind-reference.ts";
import { AnyOf, type BoundValue, type InputLocation, type Sample } from "./bound-value.ts";
import { isAsset, isDraftReference } from "./free-input.ts";
import type { Planning } from "./kind.ts";

/** A job's input on its way into the plan. */
export interface BoundInput {
  /** With complete references, as the plan keeps it. */
  readonly input: Json;
  /**
   * Without references: valid media and voices stand in for them, for the model's schema to look at. More than one where
   * values of steps may be this or that.
   */
  readonly samples: readonly Json[];
  /** Fields whose value was judged here, which the schema need not judge again. */
  readonly checkedFields: readonly string[];
}

/** Looks at so many combinations at most. */
const MAX_SAMPLES = 16;

/** Completes the references of a job's input and checks each against the schema of its location. */
export function bindInput(input: DraftJson, place: SchemaLocation | null, planning: Planning): BoundInput {
  const checkedFields: string[] = [];
  let rounds = 0;
  const location: InputLocation = {
    field: "input",
    place,
    markChecked: (field) => void checkedFields.push(field),
    opens: (choices) => {
      rounds = Math.min(MAX_SAMPLES, Math.max(rounds, choices));
    },
  };
  const placed = bindValue(input, location, planning);
  const samples =
    rounds === 0 ? [placed.sample as Json] : Array.from({ length: rounds }, (_, n) => nth(placed.sample, n));
  return { input: placed.input, samples, checkedFields };
}

/** The sample with the n-th choice in each open place. */
function nth(sample: Sample, n: number): Json {
  if (sample instanceof AnyOf) return sample.values[n % sample.values.length] ?? null;
  if (typeof sample !== "object" || sample === null) return sample;
  if (Array.isArray(sample)) return sample.map((item: Sample) => nth(item, n));
  return Object.fromEntries(Object.entries(sample).map(([key, item]: [string, Sample]) => [key, nth(item, n)]));
}

function bindValue(value: DraftJson, location: InputLocation, planning: Planning): BoundValue {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? checkMediaLiteral(value, location, planning) : { input: value, sample: value };
  }
  if (isDraftReference(value)) return bindReference(value.$ref, location, planning);
  if (isAsset(value)) return bindAsset(value.$asset, location, planning);
  if (Array.isArray(value)) return placeList(value, location, planning);
  if ("$text" in value) return bindText(value, location, planning);
  const record = value as { readonly [key: string]: DraftJson };
  const literal = checkMediaLiteral(record, location, planning);
  return literal.sample === record ? placeRecord(record, location, planning) : literal;
}

function placeList(list: readonly DraftJson[], location: InputLocation, planning: Planning): BoundValue {
  const items = list.map((item, index) =>
    bindValue(
      item,
      { ...location, field: `${location.field}[${index}]`, place: location.place?.item(index) ?? null },
      planning,
    ),
  );
  return {
    input: items.map((item) => item.input),
    sample: items.flatMap(({ sample, spread }): readonly Sample[] =>
      spread && Array.isArray(sample) ? sample : [sample],
    ),
  };
}

function placeRecord(
  record: { readonly [key: string]: DraftJson },
  location: InputLocation,
  planning: Planning,
): BoundValue {
  const input: [string, Json][] = [];
  const sample: [string, Sample][] = [];
  for (const [key, value] of Object.entries(record)) {
    const inner = { ...location, field: `${location.field}.${key}`, place: location.place?.property(key) ?? null };
    const placed = bindValue(value, inner, planning);
    input.push([key, placed.input]);
    sample.push([key, placed.sample]);
  }
  return { input: Object.fromEntries(input), sample: Object.fromEntries(sample) };
}
