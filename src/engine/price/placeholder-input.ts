import { greyPng, plainWav } from "../../placeholder-media.ts";
import type { Catalog } from "../../plan/index.ts";
import { resolveInput, traitsOf } from "../../plan/index.ts";
import { PLACEHOLDER_MEDIA, PLACEHOLDER_VOICE } from "../../plan/kinds/bind-reference.ts";
import type { Json, PlanStep, Problem, Reference, SubmittingStep } from "../../plan/plan.ts";
import { isReference } from "../../plan/references.ts";
import { type AcceptedMedia, type SchemaLocation, schemaLocation } from "../../plan/schema/field.ts";
import type { MediaStore } from "../media/media-store.ts";
import type { EstimateCache } from "./estimates.ts";
import { expectedMs, expectedRatio, firstOf } from "./expected-media.ts";
import { fitDuration, fitRatio, type MediaFit, sizeWithin } from "./media-fit.ts";
import { sampleValue } from "./sample-value.ts";

type Ref = Reference["$ref"];

/** A place of an input whose result does not exist yet. */
export interface PendingPlace {
  readonly field: string;
  /** Path of the step that will make it. */
  readonly step: string;
  /** Null where nothing can take its place: the id there is of no medium, and what is said of it means nothing. */
  readonly by: "placeholder" | null;
  /** A choice among values: which others may be given beside it hangs on what it will be. */
  readonly isChoice: boolean;
}

/** An input whose price can be asked although some of what it reads does not exist yet. */
export interface PlaceholderInput {
  readonly input: Json;
  readonly pending: readonly PendingPlace[];
  /** Media that will surely be refused. */
  readonly problems: readonly Problem[];
  /** What media must be, where it is not sure that they will, and the step that makes them. */
  readonly conditions: readonly { readonly step: string; readonly message: string }[];
}

export interface PlaceholderSources {
  readonly step: (path: string) => PlanStep | undefined;
  readonly catalog: Pick<Catalog, "model">;
  readonly estimates: EstimateCache;
  readonly media: MediaStore;
  /** What a reference is resolved to, undefined for what is left out; null: its step has not ended. */
  readonly resolved: (ref: Ref) => { readonly value: Json | undefined } | null;
}

export type Requested = Pick<SubmittingStep, "path" | "model" | "input">;

interface Place {
  readonly ref: Ref;
  readonly field: string;
  readonly schema: SchemaLocation | null;
}

type Made = Pick<PendingPlace, "by"> & { readonly value: Json; readonly fits?: readonly MediaFit[] };

/** The input of a step with placeholders for the results that do not exist yet, as its model accepts them. */
export async function placeholderInput(step: Requested, sources: PlaceholderSources): Promise<PlaceholderInput> {
  const schema = sources.catalog.model(step.model)?.inputSchema;
  const root = { field: "input", schema: schema === undefined ? null : schemaLocation(schema) };
  const values = new Map<Ref, Json | undefined>();
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
    const { value, by, fits = [] } = await made(step, place, sources);
    values.set(ref, value);
    pending.push({ field, step: ref.step, by, isChoice: isChoice(place) });
    for (const { problem, condition } of fits) {
      if (problem !== null) problems.push({ code: "media-bounds", step: step.path, field, message: problem });
      if (condition !== null) conditions.push({ step: ref.step, message: condition });
    }
  }
  return { input: resolveInput(step.input, (ref) => values.get(ref)), pending, problems, conditions };
}

/** Every reference with the field that it stands in; the pieces of a text stand in the field of the text. */
function placesOf(input: Json, at: Omit<Place, "ref">): readonly Place[] {
  if (typeof input !== "object" || input === null) return [];
  if (isReference(input)) return [{ ...at, ref: input.$ref }];
  const { field, schema } = at;
  if (Array.isArray(input)) {
    return input.flatMap((item: Json, index) =>
      placesOf(item, { field: `${field}[${index}]`, schema: schema?.item(index) ?? null }),
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
    return source === undefined
      ? { value: null, by: null }
      : { value: sampleOf(source, ref, sources), by: "placeholder" };
  }
  if (ref.as === "voice") {
    const voice = await sources.estimates.anyVoice(step.model);
    return voice === null ? { value: PLACEHOLDER_VOICE, by: null } : { value: voice, by: "placeholder" };
  }
  const takes = place.schema?.takes.what === "media" ? place.schema.takes : ANY_MEDIA;
  const { bytes = null, fits = [] } = source === undefined ? {} : medium(source, ref, takes, sources);
  const value = bytes === null ? PLACEHOLDER_MEDIA : await uploaded(bytes, sources);
  const all = ref.output === "all" ? Array.from({ length: countOf(source, takes) }, () => value) : value;
  return { value: all, by: bytes === null ? null : "placeholder", fits };
}

type Media = Extract<AcceptedMedia, { readonly what: "media" }>;
const ANY_MEDIA: Media = { what: "media", kinds: [], maxBytes: null, bounds: {} };

/** A grey picture or silence, of the expected shape or length; no few lines can make a film. */
function medium(source: PlanStep, { kind, step: path }: Ref, takes: Media, { step }: PlaceholderSources) {
  if (kind === "image") {
    const fit = fitRatio(path, expectedRatio(source, step), takes);
    return { bytes: picture(sizeWithin(fit.value, takes)), fits: [fit] };
  }
  const fit = fitDuration(path, expectedMs(source, step), takes);
  return { bytes: kind === "audio" ? plainWav(fit.value) : null, fits: kind === undefined ? [] : [fit] };
}

/** Thousands of steps take the same. */
const pictures = new Map<string, Uint8Array>();

function picture({ width, height }: { readonly width: number; readonly height: number }): Uint8Array {
  const key = `${width}x${height}`;
  const bytes = pictures.get(key) ?? greyPng(width, height);
  pictures.set(key, bytes);
  return bytes;
}

async function uploaded(bytes: Uint8Array, { media }: PlaceholderSources): Promise<Json> {
  const { sha256 } = await media.put({ bytes });
  return { source: "upload", sha256 };
}

/** How many results a reference to all of them stands for. */
function countOf(source: PlanStep | undefined, { bounds }: Media): number {
  if (source !== undefined && "outputs" in source) return source.outputs;
  const { minItems = 1, maxItems = Infinity } = bounds;
  return Math.min(Math.max(1, minItems), maxItems);
}

/** A value of the right shape where a schema tells it, else text. */
function sampleOf(source: PlanStep, ref: Ref, { step }: PlaceholderSources): Json {
  const first = firstOf(source, step);
  const schema = "schema" in first ? first.schema : null;
  const value = sampleValue(schema ?? true, ref.at);
  return ref.output === "all" && !Array.isArray(value) ? [value] : value;
}
