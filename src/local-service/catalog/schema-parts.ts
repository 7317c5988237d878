import type { JsonSchema } from "./model.ts";

/** At least one character that is neither white space nor a control character. */
export const VISIBLE = "[^\\s\\x00-\\x1F\\x7F-\\x9F]";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
export const MAX_IMAGE_BYTES = 10_485_760;
export const MAX_SOUND_BYTES = 52_428_800;
export const MAX_FILM_BYTES = 524_288_000;

/** Text of bounded length with at least one visible character. */
export function visibleText(maxLength: number, description: string): JsonSchema {
  return { type: "string", maxLength, pattern: VISIBLE, description };
}

/** Whole numbers from `from` to `to` in steps of `step`. */
export function steps(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

const URL_FORM: JsonSchema = {
  type: "object",
  title: "Uploaded file",
  additionalProperties: false,
  required: ["source", "url"],
  properties: {
    source: { const: "url" },
    url: { type: "string", format: "uri", description: "A URL returned by POST /files." },
  },
};

const ASSET_FORM: JsonSchema = {
  type: "object",
  title: "Existing asset",
  additionalProperties: false,
  required: ["source", "asset_id"],
  properties: {
    source: { const: "asset" },
    asset_id: { type: "string", description: "outputs[].asset_id of an earlier job." },
  },
};

/** Constraints of a media field. */
export interface MediaRules {
  readonly media_type: "image" | "video" | "audio";
  readonly role: string;
  readonly max_file_size_bytes: number;
  readonly description: string;
  readonly min_duration_ms?: number;
  readonly max_duration_ms?: number;
  readonly min_dimension_px?: number;
  readonly max_dimension_px?: number;
}

/** The schema of one media reference. */
export function mediaReference(rules: MediaRules): JsonSchema {
  return { ...rules, type: "object", discriminator: { propertyName: "source" }, oneOf: [URL_FORM, ASSET_FORM] };
}

/** An input object that rejects unknown fields. */
export function inputObject(
  required: readonly string[],
  properties: Readonly<Record<string, JsonSchema>>,
  rules: JsonSchema = {},
): JsonSchema {
  return { $schema: DIALECT, type: "object", additionalProperties: false, required, properties, ...rules };
}

/** Requires exactly one of the fields. */
export function exactlyOne(...fields: readonly string[]): JsonSchema {
  return { oneOf: fields.map((field) => ({ required: [field] })) };
}

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, "null"], ...more });

/** The schema of one element of `outputs`. */
export const OUTPUT_SCHEMA: JsonSchema = {
  $schema: DIALECT,
  type: "object",
  additionalProperties: false,
  required: ["status", "asset_id", "voice_id", "url", "content_type", "width", "height", "duration_ms", "fps", "error"],
  properties: {
    status: { type: "string", enum: ["COMPLETED", "FAILED", "EXPIRED"], default: "COMPLETED" },
    asset_id: nullable("string"),
    voice_id: nullable("string"),
    url: nullable("string", { format: "uri" }),
    content_type: nullable("string"),
    width: nullable("integer"),
    height: nullable("integer"),
    duration_ms: nullable("integer"),
    fps: nullable("integer"),
    error: nullable("object"),
  },
};
