import { formatDuration } from "../../kit/duration.ts";
import { own } from "../../kit/lookup.ts";
import { placeholderMedium } from "../../kit/placeholder-media.ts";
import { type Catalog, resolveInput, traitsOf } from "../../plan/index.ts";
import { PLACEHOLDER_MEDIA, PLACEHOLDER_VOICE } from "../../plan/kinds/bind-reference.ts";
import { isReference } from "../../plan/plain-json.ts";
import type { Json, PlanStep, Problem, Reference, SubmittingStep } from "../../plan/plan.ts";
import { type AcceptedMedia, type SchemaLocation, schemaLocation } from "../../plan/schema.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "./estimates.ts";
import { type EarlierMs, type Expected, expectedMs, expectedRatio, firstOf, longestMsOf } from "./expected.ts";

type Ref = Reference["$ref"];

/** A place in an input where the result of an unfinished step belongs. */
export interface PendingPlace {
  readonly field: string;
  readonly step: string;
  /** `placeholder` if a value that the service accepts fills this place; null if there is no such value. */
  readonly by: "placeholder" | null;
  /** True if the result is one of a fixed set of choices, which may affect the limits of other fields. */
  readonly isChoice: boolean;
}

export interface PlaceholderInput {
  readonly input: Json;
  /** The input with the largest possible value in every pending place; null if one of the values has no limit. */
  readonly largest: Json | null;
  readonly pending: readonly PendingPlace[];
  readonly problems: readonly Problem[];
  readonly conditions: readonly { readonly step: string; readonly message: string }[];
}

export interface PlaceholderSources {
  readonly step: (path: string) => PlanStep | undefined;
  readonly catalog: Pick<Catalog, "model">;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
  /**
   * Returns the result that `ref` refers to, or null if its step has not ended. An undefined `value` means that the
   * input field is omitted.
   */
  readonly resolved: (ref: Ref) => { readonly value: Json | undefined } | null;
  readonly earlierMs?: EarlierMs | undefined;
}

export type Requested = Pick<SubmittingStep, "path" | "model" | "input">;

interface Place {
  readonly ref: Ref;
  readonly field: string;
  readonly schema: SchemaLocation | null;
  readonly maxItems?: number | null;
}

type Made = Pick<PendingPlace, "by"> & {
  readonly value: Json;
  readonly most: Json | null;
  readonly fits?: readonly MediaFit[];
};

/** Returns a step's input. Results that do not exist yet are replaced by placeholders that the model accepts. */
export async function placeholderInput(step: Requested, sources: PlaceholderSources): Promise<PlaceholderInput> {
  const schema = sources.catalog.model(step.model)?.inputSchema;
  const root = { field: "input", schema: schema === undefined ? null : schemaLocation(schema) };
  const values = new Map<Ref, Json | undefined>();
  const largest = new Map<Ref, Json | null>();
  const pending: PendingPlace[] = [];
  const problems: Problem[] = [];
  const conditions: PlaceholderInput["conditions"][number][] = [];
  for (const place of placesOf(step.input, root)) {
    const { ref, field } = place;
    const known = sources.resolved(ref) ?? fileOf(ref, sources);
    if (known !== null) {
      values.set(ref, known.value);
      continue;
    }
    const { value, most, by, fits = [] } = await made(step, place, sources);
    values.set(ref, value);
    largest.set(ref, most);
    pending.push({ field, step: ref.step, by, isChoice: isChoice(place) });
    for (const { problem, condition } of fits) {
      if (problem !== null) problems.push({ code: "media-bounds", step: step.path, field, message: problem });
      if (condition !== null) conditions.push({ step: ref.step, message: condition });
    }
  }
  const input = resolveInput(step.input, (ref) => values.get(ref));
  const isBounded = ![...largest.values()].includes(null);
  const most = isBounded ? resolveInput(step.input, (ref) => largest.get(ref) ?? values.get(ref)) : null;
  return { input, largest: most === null ? null : fitted(most, root.schema), pending, problems, conditions };
}

function fitted(input: Json, schema: SchemaLocation | null): Json {
  if (typeof input === "string") return input.slice(0, schema?.most("maxLength") ?? undefined);
  if (typeof input !== "object" || input === null) return input;
  if (Array.isArray(input)) return input.map((item, index) => fitted(item, schema?.item(index) ?? null));
  const entries = Object.entries(input).map(([key, item]) => [key, fitted(item, schema?.property(key) ?? null)]);
  return Object.fromEntries(entries);
}

function placesOf(input: Json, at: Omit<Place, "ref">): readonly Place[] {
  if (typeof input !== "object" || input === null) return [];
  if (isReference(input)) return [{ ...at, ref: input.$ref }];
  const { field, schema } = at;
  if (Array.isArray(input)) {
    const maxItems = schema?.most("maxItems") ?? null;
    return input.flatMap((item: Json, index) =>
      placesOf(item, { field: `${field}[${index}]`, schema: schema?.item(index) ?? null, maxItems }),
    );
  }
  if ("$text" in input) return (input.$text as readonly Json[]).flatMap((piece) => placesOf(piece, at));
  return Object.entries(input).flatMap(([key, item]) =>
    placesOf(item, { field: `${field}.${key}`, schema: schema?.property(key) ?? null }),
  );
}

function isChoice({ ref, schema }: Place): boolean {
  if (ref.as !== "value") return false;
  const examples = schema?.takes.what === "json" ? schema.examples() : [];
  return examples.length !== 1 || typeof examples[0] !== "string";
}

function fileOf({ step }: Ref, sources: PlaceholderSources): { readonly value: Json } | null {
  const source = sources.step(step);
  const file = source === undefined ? null : traitsOf(source).file;
  return file === null ? null : { value: { source: "upload", sha256: file.sha256 } };
}

async function made(step: { readonly model: string }, place: Place, sources: PlaceholderSources): Promise<Made> {
  const { ref } = place;
  const source = sources.step(ref.step);
  if (ref.as === "value") {
    if (source === undefined) return { value: null, most: null, by: null };
    return { value: sampleOf(source, ref, sources), most: mostOf(source, place, sources), by: "placeholder" };
  }
  if (ref.as === "voice") {
    const voice = await sources.estimates.voices.any(step.model);
    if (voice === null) return { value: PLACEHOLDER_VOICE, most: null, by: null };
    return { value: voice, most: voice, by: "placeholder" };
  }
  const takes = place.schema?.takes.what === "media" ? place.schema.takes : ANY_MEDIA;
  const { bytes = null, longest = null, fits = [] } = source === undefined ? {} : medium(source, ref, takes, sources);
  const value = bytes === null ? PLACEHOLDER_MEDIA : await uploaded(bytes, sources);
  const most = longest === null ? null : await uploaded(longest, sources);
  const by = bytes === null ? null : "placeholder";
  if (ref.output !== "all") return { value, most, by, fits };
  const all = (length: number, item: Json) => Array.from({ length }, () => item);
  const isCounted = source !== undefined && "outputs" in source;
  const mostCount = isCounted ? source.outputs : (takes.bounds.maxItems ?? place.maxItems ?? null);
  const isBounded = most !== null && mostCount !== null;
  return { value: all(countOf(source, takes), value), most: isBounded ? all(mostCount, most) : null, by, fits };
}

function mostOf(source: PlanStep, { ref, schema }: Place, { step }: PlaceholderSources): Json | null {
  const first = firstOf(source, step);
  const yields = ("schema" in first ? first.schema : null) ?? true;
  const types = schema?.takes.what === "json" ? schema.takes.types : [];
  const isText = types.length === 0 || types.includes("string");
  const keyword = isText ? "maxLength" : "maximum";
  const bounds = [schema?.most(keyword) ?? null, boundAt(yields, ref.at ?? [], keyword)].filter(
    (bound) => bound !== null,
  );
  const isChoice = !isText && !types.some((type) => type === "number" || type === "integer");
  if (isChoice || ref.output === "all" || bounds.length === 0) return null;
  const most = Math.min(...bounds);
  if (!isText) return most;
  // If only certain texts are allowed, it is unknown which of them will be used.
  const isClosed = schema !== null && (schema.examples().length !== 1 || schema.examples()[0] !== "x");
  return isClosed || most > MOST_CHARACTERS ? null : textOf(most);
}

type Media = Extract<AcceptedMedia, { readonly what: "media" }>;
const ANY_MEDIA: Media = { what: "media", kinds: [], maxBytes: null, bounds: {} };
const MOST_CHARACTERS = 200_000;
/** Longer side, in pixels, of the largest image that any model makes. */
const LARGEST_PX = 4096;
/** Maximum duration of a placeholder, in milliseconds. It limits how much has to be uploaded. */
const LONGEST_MS = 15 * 60_000;

/**
 * Returns a placeholder of the expected size or duration (`bytes`), and the largest one (`longest`). Both are null for
 * video.
 */
function medium(source: PlanStep, { kind, step: path }: Ref, takes: Media, { step, earlierMs }: PlaceholderSources) {
  const bounds = takes.maxBytes === null ? takes.bounds : { ...takes.bounds, max_file_size_bytes: takes.maxBytes };
  if (kind === "image") {
    const fit = fitRatio(path, expectedRatio(source, step), takes);
    const picture = (sidePx?: number) => placeholderMedium(kind, { durationMs: 0, ratio: fit.value, sidePx }, bounds);
    return { bytes: picture(), longest: picture(LARGEST_PX), fits: [fit] };
  }
  const expected = expectedMs(source, step, earlierMs);
  const fit = fitDuration(path, expected, takes);
  const longestMs = Math.min(longestMsOf(expected), takes.bounds.max_duration_ms ?? Infinity);
  const fits = kind === undefined ? [] : [fit];
  if (kind !== "audio") return { bytes: null, longest: null, fits };
  const sound = (durationMs: number) => placeholderMedium(kind, { durationMs, ratio: 1 }, bounds);
  return { bytes: sound(fit.value), longest: longestMs <= LONGEST_MS ? sound(longestMs) : null, fits };
}

async function uploaded(bytes: Uint8Array, { media }: PlaceholderSources): Promise<Json> {
  const { sha256 } = await media.put({ bytes });
  return { source: "upload", sha256 };
}

function countOf(source: PlanStep | undefined, { bounds }: Media): number {
  if (source !== undefined && "outputs" in source) return source.outputs;
  const { minItems = 1, maxItems = Infinity } = bounds;
  return Math.min(Math.max(1, minItems), maxItems);
}

function sampleOf(source: PlanStep, ref: Ref, { step }: PlaceholderSources): Json {
  const first = firstOf(source, step);
  const schema = "schema" in first ? first.schema : null;
  const value = sampleValue(schema ?? true, ref.at);
  return ref.output === "all" && !Array.isArray(value) ? [value] : value;
}

const TEXT =
  "A quiet harbor at dawn: fishing boats rock on the water, gulls circle above the masts, and a long golden light falls over wet stones.";
const MAX_DEPTH = 20;
const ENDLESS = 5;

type Schema = { readonly [keyword: string]: Json };

export function sampleValue(schema: Json, at: readonly (string | number)[] = []): Json {
  return sample(
    at.reduce((found, key) => within(found, key, schema), schema),
    schema,
    0,
  );
}

function textOf(length: number): string {
  return TEXT.repeat(Math.ceil(length / TEXT.length)).slice(0, length);
}

function boundAt(schema: Json, at: readonly (string | number)[], keyword: "maxLength" | "maximum") {
  const root = schema;
  const found = resolved(
    at.reduce((part, key) => within(part, key, root), schema),
    root,
  );
  const bound = isSchema(found) ? found[keyword] : undefined;
  return typeof bound === "number" ? bound : null;
}

function within(schema: Json, key: string | number, root: Json): Json {
  const found = resolved(schema, root);
  if (!isSchema(found)) return true;
  const { properties, prefixItems, items, additionalProperties } = found;
  if (typeof key === "string")
    return (isSchema(properties) ? properties[key] : undefined) ?? additionalProperties ?? true;
  return (Array.isArray(prefixItems) ? prefixItems[key] : undefined) ?? items ?? true;
}

function sample(given: Json, root: Json, depth: number): Json {
  const schema = resolved(given, root);
  if (!isSchema(schema) || depth > MAX_DEPTH) return TEXT;
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]!;
  const choice = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray)?.[0];
  if (choice !== undefined && schema.type === undefined) return sample(choice, root, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== "null") : schema.type;
  switch (type) {
    case "object":
      return sampleObject(schema, root, depth);
    case "array":
      return sampleList(schema, root, depth);
    case "integer":
    case "number":
      return sampleNumber(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return sampleText(schema);
  }
}

function sampleNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Schema): number {
  const [least, above, most, below] = [minimum, exclusiveMinimum, maximum, exclusiveMaximum].map((bound, index) =>
    // Ignore the limits of safe integers, which are not real bounds.
    typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : index < 2 ? -Infinity : Infinity,
  ) as [number, number, number, number];
  const step = typeof multipleOf === "number" ? multipleOf : 1;
  const low = Math.max(least, above);
  const high = Math.min(most, below);
  if (low === -Infinity) return Math.min(step, most, below - step);
  const next = Math.ceil(low / step) * step;
  const found = next > above ? next : next + step;
  // The range contains no multiple, so take a value inside it.
  return found <= most && found < below ? found : Math.max(least, (low + high) / 2);
}

const FORMATS: { readonly [format: string]: string } = {
  uri: "https://example.com/picture",
  email: "someone@example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  date: "2030-01-01",
  "date-time": "2030-01-01T12:00:00Z",
  time: "12:00:00Z",
};

function sampleText({ format, minLength, maxLength }: Schema): string {
  const known = typeof format === "string" ? own(FORMATS, format) : undefined;
  if (known !== undefined) return known;
  const least = typeof minLength === "number" ? Math.min(minLength, 100_000) : 0;
  const most = typeof maxLength === "number" ? maxLength : Math.max(TEXT.length, least);
  return TEXT.repeat(Math.max(1, Math.ceil(least / TEXT.length))).slice(0, most);
}

function sampleObject(schema: Schema, root: Json, depth: number): Json {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => [key, sample(property, root, depth + 1)]),
  );
}

function sampleList(schema: Schema, root: Json, depth: number): Json {
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  const most = typeof schema.maxItems === "number" ? schema.maxItems : 100;
  const count = Math.min(most, 100, Math.max(least, depth > ENDLESS ? 0 : 1));
  return Array.from({ length: count }, (_, index) => sample(within(schema, index, root), root, depth + 1));
}

function resolved(schema: Json, root: Json): Json {
  let found = schema;
  for (let hops = 0; hops < MAX_DEPTH && isSchema(found) && typeof found.$ref === "string"; hops++) {
    const keys = found.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    found = keys.reduce<Json>((value, key) => (isSchema(value) ? (value[key] ?? true) : true), root);
  }
  return found;
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface MediaFit {
  readonly problem: string | null;
  readonly condition: string | null;
  readonly value: number;
}

interface Measure {
  readonly expected: Expected;
  readonly min: number;
  readonly max: number;
  readonly verb: string;
  readonly asText: (value: number) => string;
  readonly otherwise: string;
}

function fitDuration(step: string, expected: Expected, { bounds }: Pick<Media, "bounds">): MediaFit {
  const { min_duration_ms: min = 0, max_duration_ms: max = Infinity } = bounds;
  const otherwise = `change ${step}, or state its duration with expect: { durationMs } in its options`;
  return fitMeasure(step, { expected, min, max, verb: "last", asText: formatDuration, otherwise });
}

function fitRatio(step: string, expected: Expected | null, { bounds }: Pick<Media, "bounds">): MediaFit {
  const { min_aspect_ratio: min = 0, max_aspect_ratio: max = Infinity } = bounds;
  const asText = (value: number) => `${Number(value.toFixed(2))} : 1`;
  return fitMeasure(step, {
    expected: expected ?? { value: 1, factor: 2, why: null },
    min,
    max,
    verb: "have an aspect ratio of",
    asText,
    otherwise: `change ${step} or the step that uses it`,
  });
}

function fitMeasure(step: string, { expected, min, max, verb, asText, otherwise }: Measure): MediaFit {
  const { value, factor, why } = expected;
  const [least, most] = [value / factor, value * factor];
  const needed =
    most <= max
      ? `at least ${asText(min)}`
      : least >= min
        ? `at most ${asText(max)}`
        : `${asText(min)} to ${asText(max)}`;
  const isIn = least >= min && most <= max;
  const isOut = why !== null && (most < min || least > max);
  return {
    problem: isOut
      ? `${step} is expected to ${verb} ${asText(value)} (according to ${why}) but must ${verb} ${needed}; ${otherwise}`
      : null,
    condition: isIn || isOut ? null : `${step} must ${verb} ${needed}`,
    value: Math.min(Math.max(value, min), max),
  };
}
