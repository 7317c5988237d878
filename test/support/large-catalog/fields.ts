import { STOCK_VOICES } from "../../../src/local-service/catalog/builtin/index.ts";

export type Schema = { readonly [keyword: string]: unknown };
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type MediaKind = "image" | "video" | "audio";
/** Returns a reference to media of a kind: audio lasts 6 s, and pictures have sides of 512 px. */
export type MediaOf = (kind: MediaKind) => Value;

/** A field of an input: its schema, and a valid value. */
export interface Field {
  readonly schema: Schema;
  readonly sample: (media: MediaOf) => Value;
}

/** Draws random values from a seeded sequence. */
export interface Draw {
  readonly number: (from: number, to: number) => number;
  readonly one: <T>(list: readonly T[]) => T;
}

export function drawWith(random: () => number): Draw {
  const number = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  return { number, one: (list) => list[number(0, list.length - 1)]! };
}

const plain = (schema: Schema, value: Value): Field => ({ schema, sample: () => value });

export const choice = (values: readonly (string | number)[], preset?: string | number): Field => {
  const type = typeof values[0] === "number" ? "integer" : "string";
  return plain({ type, enum: values, ...(preset !== undefined && { default: preset }) }, preset ?? values[0]!);
};

export const words = (maxLength: number, value: string): Field =>
  plain({ type: "string", minLength: 1, maxLength, pattern: "[^\\s]" }, value);

/** The two forms of a media reference; models name them under `$defs` or write them out. */
export const MEDIA_REFERENCE: Schema = {
  type: "object",
  discriminator: { propertyName: "source" },
  oneOf: [
    {
      type: "object",
      additionalProperties: false,
      required: ["source", "url"],
      properties: { source: { const: "url" }, url: { type: "string", format: "uri" } },
    },
    {
      type: "object",
      additionalProperties: false,
      required: ["source", "asset_id"],
      properties: { source: { const: "asset" }, asset_id: { type: "string" } },
    },
  ],
};

const BOUNDS: Readonly<Record<MediaKind, Schema>> = {
  image: { max_file_size_bytes: 10_485_760, min_dimension_px: 300, max_dimension_px: 8000 },
  video: { max_file_size_bytes: 209_715_200, max_duration_ms: 60_000 },
  audio: { max_file_size_bytes: 52_428_800, min_duration_ms: 2000, max_duration_ms: 300_000 },
};

function medium(draw: Draw, kind: MediaKind, role: string, media: MediaOf = () => null): Field {
  const form = draw.one([MEDIA_REFERENCE, { $ref: "#/$defs/MediaReference" }]);
  return { schema: { ...form, media_type: kind, role, ...BOUNDS[kind] }, sample: (of = media) => of(kind) };
}

function media(draw: Draw, kind: MediaKind, role: string): Field {
  const item = medium(draw, kind, role);
  const schema = { type: "array", minItems: 1, maxItems: draw.number(2, 9), items: item.schema };
  return { schema, sample: (of) => [item.sample(of)] };
}

const tuple = (value: readonly number[], item: Schema): Field => {
  const prefixItems = value.map(() => item);
  return plain({ type: "array", prefixItems, minItems: value.length, maxItems: value.length }, value);
};

const MAKERS: Readonly<Record<string, (draw: Draw) => Field>> = {
  prompt: (draw) => words(draw.one([1000, 2500, 4000]), "A boat on a calm lake."),
  negative_prompt: () => words(1000, "fog"),
  text: () => words(5000, "The boat leaves at nine."),
  lyrics: () => words(3000, "Row, row, row your boat."),
  name: () => words(100, "Ada"),
  voice_id: (draw) => {
    const own = STOCK_VOICES[0]!.voiceId;
    return draw.one([plain({ type: "string" }, own), choice(["alto", "bass", "tenor"])]);
  },
  start_image: (draw) => medium(draw, "image", "start_frame"),
  end_image: (draw) => medium(draw, "image", "end_frame"),
  mask: (draw) => medium(draw, "image", "reference"),
  image: (draw) => medium(draw, "image", "reference"),
  images: (draw) => media(draw, "image", "reference"),
  source_video: (draw) => medium(draw, "video", "input_video"),
  audio: (draw) => medium(draw, "audio", "audio_input"),
  audios: (draw) => media(draw, "audio", "audio_input"),
  aspect_ratio: () => choice(["16:9", "9:16", "1:1"]),
  resolution: () => choice(["720p", "1080p", "4K"]),
  duration_ms: (draw) => choice([4000, 6000, 8000, draw.number(9, 15) * 1000]),
  seed: () => plain({ type: "integer", minimum: 0, maximum: 4_294_967_295 }, 7),
  cfg_scale: () => plain({ type: "number", minimum: 0, maximum: 1 }, 0.5),
  generate_audio: () => plain({ type: "boolean", default: true }, false),
  num_outputs: (draw) => choice([1, 2, 3, 4].slice(0, draw.number(1, 4)), 1),
  size_px: () => tuple([1024, 768], { type: "integer", minimum: 256, maximum: 4096 }),
  bounding_box: () => tuple([0, 0, 0.5, 0.5], { type: "number", minimum: 0, maximum: 1 }),
  shots: () => {
    const shot = { type: "object", additionalProperties: false, required: ["prompt"] };
    const properties = { prompt: { type: "string" }, duration_ms: { type: "integer", default: 5000 } };
    return plain({ type: "array", minItems: 1, maxItems: 6, items: { ...shot, properties } }, [{ prompt: "A quay." }]);
  },
  style: () =>
    plain({ $ref: "#/$defs/Style", description: "How it looks." }, { name: "ink", colors: ["black"], weight: 0.4 }),
};

/** Schemas that models may reference under `$defs`. */
export const DEFS: Schema = {
  MediaReference: MEDIA_REFERENCE,
  Style: {
    type: "object",
    additionalProperties: false,
    required: ["name"],
    properties: {
      name: { type: "string", enum: ["ink", "oil", "film"] },
      colors: { type: "array", items: { type: "string" }, maxItems: 3 },
      weight: { type: "number", minimum: 0, maximum: 1, default: 0.5 },
    },
  },
};

/** Creates the field with this name, as models define it. */
export function field(name: string, draw: Draw): Field {
  return MAKERS[name]!(draw);
}
