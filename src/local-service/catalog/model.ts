import type { JobKind } from "../store/rows.ts";

export type Modality = "image" | "video" | "audio";
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface MeasuredMedia {
  readonly kind: "image" | "video" | "audio";
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
}

export interface Work {
  readonly input: Readonly<Record<string, unknown>>;
  readonly media: Readonly<Record<string, readonly MeasuredMedia[]>>;
}

export type ModelState =
  | { readonly is: "live" }
  | { readonly is: "retired"; readonly replacedBy: string | null }
  | { readonly is: "unsupported"; readonly message: string; readonly isListed?: boolean };

export interface CatalogEntry {
  readonly id: string;
  readonly modality: Modality;
  readonly name: string | null;
  readonly description: string | null;
  readonly price_description: string;
  readonly logo_url: string | null;
  readonly input_schema: JsonSchema;
  readonly output_schema: JsonSchema;
}

export interface ModelDefinition {
  readonly entry: CatalogEntry;
  readonly state: ModelState;
  kind(work: Work): Exclude<JobKind, "chat">;
  /** Why the price is unknown until the inputs are measured, or null if it is known. */
  readonly unquotable: string | null;
  priceMicros(work: Work): number;
  /** Simulated processing time, before the speed factor is applied. */
  renderMs(work: Work): number;
  readonly listsVoices: boolean;
  readonly voices: readonly StockVoice[];
  /** Maps each old id of the model to advice for requests that use this id. */
  readonly oldIds: Readonly<Record<string, string>>;
  /** Adapts a job's input to the renderer. `rename` maps the model's field names to the field names of the renderer. */
  adapt?(work: Work): { readonly input: Work["input"]; readonly rename: Readonly<Record<string, string>> };
}

export interface StockVoice {
  readonly voiceId: string;
  readonly name: string;
  readonly base: "slt" | "rms" | "awb" | "kal";
  readonly labels: Readonly<Record<string, string>>;
}

const stockVoice = (voiceId: string, name: string, base: StockVoice["base"], gender: string, accent: string) => ({
  voiceId: `voice_${voiceId}`,
  name,
  base,
  labels: { gender, accent, language: "en" },
});

/** Voices that models offer without cloning. Their ids must never change. */
export const STOCK_VOICES: readonly StockVoice[] = [
  stockVoice("1f0c5f6e-0a51-4c3f-8f0e-5a1d0c9b7a01", "Sally", "slt", "female", "american"),
  stockVoice("2b7d9a10-6c42-4e8b-9d21-7e3f4b5c6d02", "Robert", "rms", "male", "american"),
  stockVoice("3c8eab21-7d53-4f9c-8e32-8f405c6d7e03", "Alan", "awb", "male", "scottish"),
  stockVoice("4d9fbc32-8e64-40ad-9f43-90516d7e8f04", "Kevin", "kal", "male", "american"),
];

export const VISIBLE = "[^\\s\\x00-\\x1F\\x7F-\\x9F]";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";
export const MAX_IMAGE_BYTES = 10_485_760;
export const MAX_SOUND_BYTES = 52_428_800;
export const MAX_FILM_BYTES = 524_288_000;

export function visibleText(maxLength: number, description: string): JsonSchema {
  return { type: "string", maxLength, pattern: VISIBLE, description };
}

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
    asset_id: { type: "string", description: "The outputs[].asset_id of an earlier job." },
  },
};

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

export function mediaReference(rules: MediaRules): JsonSchema {
  return { ...rules, type: "object", discriminator: { propertyName: "source" }, oneOf: [URL_FORM, ASSET_FORM] };
}

export function inputObject(
  required: readonly string[],
  properties: Readonly<Record<string, JsonSchema>>,
  rules: JsonSchema = {},
): JsonSchema {
  return { $schema: DIALECT, type: "object", additionalProperties: false, required, properties, ...rules };
}

export function combinations(...rows: readonly string[]): JsonSchema {
  const lines = rows.map((row, index) => `(${index + 1}) ${row}`);
  return { description: ["Accepted field combinations (one per input mode):", ...lines].join("\n") };
}

const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, "null"], ...more });

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
    expires_at: nullable("string", { format: "date-time" }),
  },
};
