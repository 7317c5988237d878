import type { AcceptedMedia, SchemaLocation } from "../schema.ts";
import type { DraftAsset, DraftJson, DraftReference, Json, MediaKind, Reference } from "../step.ts";
import { bindFreeInput, completeRef, type Planning, type StepFacts, valueAt } from "./kind.ts";

type Literal = string | { readonly [key: string]: DraftJson };

/** Reports a literal in a media field, unless it is an asset of the account. */
export function checkMediaLiteral(value: Literal, location: InputLocation, { report }: Planning): BoundValue {
  const untouched = { input: value as Json, sample: value as Json };
  const takes = location.schema?.takes;
  if (takes?.what !== "media") return untouched;
  const fault = faultOf(value, phrase(takes.kinds));
  if (fault === null) return untouched;
  location.markChecked(location.field);
  report(fault.code, location.field, fault.message);
  return { input: value as Json, sample: PLACEHOLDER_MEDIA };
}

interface Fault {
  readonly code: string;
  readonly message: string;
}

function faultOf(value: Literal, expectedKinds: string): Fault | null {
  if (typeof value === "string") return textFault(value, expectedKinds);
  if (value.source === "url" || (value.source === undefined && typeof value.url === "string"))
    return foreignUrl(expectedKinds);
  if (typeof value.path === "string" && value.source === undefined) {
    const message = `expects ${expectedKinds}, but this is a file on this machine; pass upload("name", file) instead`;
    return { code: "type", message };
  }
  const id = value.asset_id;
  if (typeof id !== "string" || id.startsWith("asset_")) return null;
  return id.startsWith("job_")
    ? { code: "asset-id", message: `${id} is a job; use the asset_id of one of its outputs` }
    : null;
}

function textFault(text: string, expectedKinds: string): Fault {
  if (/^(?:https?|data|ftp):/i.test(text)) return foreignUrl(expectedKinds);
  if (text.startsWith("asset_")) {
    return {
      code: "type",
      message: `expects ${expectedKinds}; pass an asset as asset("image" | "video" | "audio", "${text}")`,
    };
  }
  const message = `expects ${expectedKinds}, not text; pass the handle of a step, or upload("name", "path/to/file")`;
  return { code: "type", message };
}

function foreignUrl(expectedKinds: string): Fault {
  const message = `expects ${expectedKinds} stored on the service, not a URL from elsewhere; download the file and pass upload("name", "path/to/file")`;
  return { code: "foreign-url", message };
}

const NIL = "00000000-0000-4000-8000-000000000000";
export const PLACEHOLDER_MEDIA: Json = { source: "asset", asset_id: `asset_${NIL}` };
export const PLACEHOLDER_VOICE = `voice_${NIL}`;

/** The maximum number of placeholders for one reference. */
const MAX_SPREAD = 1000;

export function bindReference(ref: DraftReference["$ref"], location: InputLocation, planning: Planning): BoundValue {
  location.markChecked(location.field);
  const source = planning.facts(ref.step);
  if (source === undefined) return { input: null, sample: null };
  const report = (code: string, message: string, more?: { readonly allowed?: readonly string[] }) =>
    planning.report(code, location.field, message, more);
  const completed = completeRef(ref, source, report);
  const planned: Reference = { $ref: completed };
  const input = planned as unknown as Json;
  if (source.isOpen === true && isPlain(location)) {
    report("unknown-yield", `${ref.step} does not declare that it yields values; add yields: "value" to ${ref.step}`);
    return { input, sample: null };
  }
  if (completed.as === "value") return { input, ...bindAnyValue(ref, source, location, planning) };
  checkKind({ ...source, yields: completed.kind ?? source.yields }, ref.step, location, planning);
  const placeholder = completed.as === "voice" ? PLACEHOLDER_VOICE : PLACEHOLDER_MEDIA;
  if (completed.output !== "all") return { input, sample: placeholder };
  const count = Number.isFinite(source.outputs) ? Math.min(source.outputs, MAX_SPREAD) : 1;
  return { input, sample: Array.from({ length: count }, () => placeholder), spread: true };
}

function isPlain({ schema }: InputLocation): boolean {
  return schema?.takes.what === "json" && schema.takes.types.length > 0;
}

function bindAnyValue(
  ref: DraftReference["$ref"],
  source: StepFacts,
  location: InputLocation,
  planning: Planning,
): Pick<BoundValue, "sample" | "spread"> {
  const { types } = valueAt(ref, source);
  checkValue(ref, types, location, planning);
  const examples = location.schema?.examples() ?? [null];
  location.opens(examples.length);
  const sample = new AnyOf(examples);
  return ref.output === "all" ? { sample: [sample], spread: true } : { sample };
}

function checkValue(
  ref: DraftReference["$ref"],
  types: readonly string[],
  { field, schema }: InputLocation,
  planning: Planning,
) {
  const name = [ref.step, ...(ref.at ?? [])].join(".");
  if (/^input\.num_outputs$/.test(field)) {
    const message = "the number of outputs must be known when the run is planned; use a number or `expand`";
    return planning.report("fixed-field", field, message);
  }
  if (schema === null) return;
  const ofItems = schema.item(0)?.takes;
  const takes = ofItems?.what === "media" ? ofItems : schema.takes;
  switch (takes.what) {
    case "media":
      return planning.report(
        "media-kind",
        field,
        `expects ${phrase(takes.kinds)}, but ${name} is a value; ${MEDIA_FROM}`,
      );
    case "voice":
    case "json": {
      const expectedKinds = takes.what === "voice" ? ["string"] : takes.types;
      if (fits(types, expectedKinds)) return;
      return planning.report(
        "value-type",
        field,
        `expects ${expectedKinds.join(" or ")}, but ${name} is ${types.join(" or ")}`,
      );
    }
    default:
      return takes satisfies never;
  }
}

const MEDIA_FROM = "pass a step that produces media, or have a task write a file";

function fits(types: readonly string[], expectedKinds: readonly string[]): boolean {
  if (types.length === 0 || expectedKinds.length === 0) return true;
  return types.some(
    (type) =>
      expectedKinds.includes(type) ||
      (type === "integer" && expectedKinds.includes("number")) ||
      (type === "number" && expectedKinds.includes("integer")),
  );
}

export function bindText(text: DraftJson, location: InputLocation, planning: Planning): BoundValue {
  location.markChecked(location.field);
  const input = bindFreeInput(text, location.field, planning, { assets: null, reference: () => {} });
  const takes: AcceptedMedia = location.schema?.takes ?? { what: "json", types: [] };
  const isText = takes.what === "voice" || (takes.what === "json" && fits(["string"], takes.types));
  if (!isText) {
    const expectedKinds =
      takes.what === "media" ? phrase(takes.kinds) : takes.what === "json" ? takes.types.join(" or ") : "";
    planning.report(
      takes.what === "media" ? "media-kind" : "value-type",
      location.field,
      `expects ${expectedKinds}, not text`,
    );
  }
  const examples = location.schema?.examples() ?? ["x"];
  location.opens(examples.length);
  return { input, sample: new AnyOf(examples) };
}

function checkKind(source: StepFacts, step: string, { field, schema }: InputLocation, { report }: Planning): void {
  const { yields, sizeBytes } = source;
  if (schema === null || yields === null) return;
  const { takes } = schema;
  const result = yields === "voice" ? "a voice" : phrase([yields as MediaKind]);
  switch (takes.what) {
    case "media":
      if (
        takes.kinds.length === 0 ? yields !== "voice" && yields !== "text" : takes.kinds.some((kind) => kind === yields)
      ) {
        if (sizeBytes === null || takes.maxBytes === null || sizeBytes <= takes.maxBytes) return;
        return report(
          "file-size",
          field,
          `accepts at most ${takes.maxBytes} bytes, but the file from ${step} is ${sizeBytes} bytes`,
        );
      }
      return report("media-kind", field, `expects ${phrase(takes.kinds)}, but ${step} makes ${result}`);
    case "voice":
      if (yields !== "voice") report("media-kind", field, `expects a voice, but ${step} makes ${result}`);
      return;
    case "json":
      if (takes.types.length === 0) return;
      return report("media-kind", field, `expects JSON (${takes.types.join(" or ")}), but ${step} makes ${result}`);
    default:
      return takes satisfies never;
  }
}

export function bindAsset(asset: DraftAsset["$asset"], location: InputLocation, { report }: Planning): BoundValue {
  location.markChecked(location.field);
  const { takes } = location.schema ?? {};
  const input = { source: "asset", asset_id: asset.assetId };
  if (asset.assetId.startsWith("job_")) {
    report("asset-id", location.field, `${asset.assetId} is a job; use the asset_id of one of its outputs`);
  }
  const fits = takes?.what !== "media" || takes.kinds.length === 0 || takes.kinds.includes(asset.kind);
  if (takes !== undefined && (takes.what !== "media" || !fits)) {
    const expectedKinds =
      takes.what === "media" ? phrase(takes.kinds) : takes.what === "voice" ? "a voice" : "plain JSON";
    report("media-kind", location.field, `expects ${expectedKinds}, but the asset is ${phrase([asset.kind])}`);
  }
  return { input, sample: PLACEHOLDER_MEDIA };
}

export function phrase(kinds: readonly MediaKind[]): string {
  const words = { image: "an image", video: "a video", audio: "audio" };
  return kinds.length === 0 ? "media" : kinds.map((kind) => words[kind]).join(" or ");
}

export class AnyOf {
  readonly values: readonly Json[];

  constructor(values: readonly Json[]) {
    this.values = values;
  }
}

export type Sample = Json | AnyOf | readonly Sample[] | { readonly [key: string]: Sample };

/**
 * An input value, and the sample that is validated in its place. With `spread`, the sample's items join the enclosing
 * list.
 */
export interface BoundValue {
  readonly input: Json;
  readonly sample: Sample;
  readonly spread?: true;
}

export interface InputLocation {
  readonly field: string;
  readonly schema: SchemaLocation | null;
  markChecked(field: string): void;
  opens(choices: number): void;
}
