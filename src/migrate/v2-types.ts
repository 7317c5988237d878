import { isRecord, type JsonPath, type JsonRecord } from "./read/source.ts";

/** The expected shape of a value in a v2 body. An `answer` is a value from v2's response, and is not validated. */
export type Shape =
  | { readonly is: "text" | "id" | "url" | "boolean" | "point" | "answer" }
  | { readonly is: "choice"; readonly of: readonly string[] }
  | { readonly is: "number"; readonly min: number; readonly max: number; readonly integer?: true }
  /** A list of items. With `orOne`, a single id is accepted in place of the list. */
  | { readonly is: "list"; readonly item: Shape; readonly orOne?: true }
  | { readonly is: "record"; readonly fields: Fields };

export interface Field {
  readonly shape: Shape;
  readonly isRequired?: true;
}

export type Fields = { readonly [name: string]: Field };

const text: Field = { shape: { is: "text" } };
const id: Field = { shape: { is: "id" } };
const ids: Field = { shape: { is: "list", item: id.shape } };
const url: Field = { shape: { is: "url" } };
const boolean: Field = { shape: { is: "boolean" } };
const number = (min = -Infinity, max = Infinity): Field => ({ shape: { is: "number", min, max } });
const whole = (min = -Infinity, max = Infinity): Field => ({ shape: { is: "number", integer: true, min, max } });
const choice = (...of: readonly string[]): Field => ({ shape: { is: "choice", of } });
const record = (fields: Fields): Field => ({ shape: { is: "record", fields } });
const list = (item: Field): Field => ({ shape: { is: "list", item: item.shape } });
const required = (field: Field): Field => ({ ...field, isRequired: true });

export const V2_TYPES = [
  "image",
  "image_to_image",
  "video",
  "text_to_speech",
  "text_to_sound",
  "speech_to_speech",
  "voice_clone",
  "audio_isolation",
  "image_upscale",
  "video_upscale",
  "video_to_video",
  "motion_control",
] as const;

export type V2Type = (typeof V2_TYPES)[number];

const common: Fields = {
  type: { shape: { is: "choice", of: V2_TYPES }, isRequired: true },
  workspace_id: id,
  agent_thread_id: id,
  generation_id: id,
  generation_ids: ids,
  reserved_asset_id: id,
  reserved_asset_ids: ids,
  model_slug: text,
  ai_model_id: id,
  model_id: id,
};

const answer = { shape: { is: "answer" } } as const;

/** Fields of v2 responses, as found in exported logs. */
export const ANSWER_FIELDS: Fields = {
  id,
  asset_id: id,
  batch_results: answer,
  status: answer,
  progress: answer,
  eta_sec: answer,
  created_at: answer,
  url: answer,
  download_url: answer,
  streaming_url: answer,
  error: answer,
  error_message: answer,
};

const batch = { batch_size: whole(1, 8), name: text };

const image: Fields = {
  text_prompt: required(text),
  aspect_ratio: text,
  resolution: text,
  output_format: text,
  start_keyframe_id: id,
  reference_image_ids: ids,
  enhance_prompt: boolean,
  seed: whole(),
  negative_prompt: text,
  guidance_scale: number(),
  num_inference_steps: whole(),
  ...batch,
};

const speech: Fields = {
  voice_id: required(id),
  text: required(text),
  stability: number(0, 1),
  speed: number(0.7, 1.2),
  language: text,
  name: text,
};

const videoInputs: Fields = {
  text_prompt: required(text),
  resolution: text,
  aspect_ratio: text,
  duration_ms: whole(1),
  generate_audio: boolean,
  seed: whole(),
  negative_prompt: text,
  enhance_prompt: boolean,
  bounding_box_target: { shape: { is: "point" } },
  character_orientation: choice("video", "image"),
  multi_prompt: list(record({ prompt: required(text), duration_ms: required(whole(3000, 15_000)) })),
  shot_type: choice("customize"),
  cfg_scale: number(),
  model_slug: text,
  ai_model_id: id,
};

const video: Fields = {
  generated_video_inputs: required(record(videoInputs)),
  start_keyframe_id: id,
  start_keyframe_url: url,
  end_keyframe_id: id,
  end_keyframe_url: url,
  audio_id: { shape: { is: "list", item: id.shape, orOne: true } },
  audio_generation: record({ ...common, type: choice("text_to_speech"), ...speech }),
  audio_start_ms: whole(),
  reference_image_ids: ids,
  reference_audio_ids: ids,
  reference_video_ids: ids,
  video_id: id,
  ...batch,
};

const own: Readonly<Record<V2Type, Fields>> = {
  image,
  image_to_image: image,
  video,
  text_to_speech: speech,
  text_to_sound: {
    text: required(text),
    duration_seconds: number(0.5, 30),
    prompt_influence: number(0, 1),
    loop: boolean,
    output_format: text,
  },
  speech_to_speech: { audio_id: required(id), voice_id: required(id) },
  voice_clone: { audio_id: required(id), name: required(text) },
  audio_isolation: { audio_id: required(id) },
  image_upscale: { image_id: required(id), target_resolution: text, upscale_factor: number(0) },
  video_upscale: {
    video_id: required(id),
    target_resolution: choice("1080p", "2K", "4K"),
    upscale_factor: number(0),
  },
  video_to_video: {
    video_id: required(id),
    prompt: required(text),
    reference_image_asset_ids: ids,
    elements: list(record({ frontal_image_asset_id: required(id), reference_image_asset_ids: ids })),
    keep_audio: boolean,
  },
  motion_control: {
    video_id: required(id),
    start_keyframe_id: required(id),
    generated_video_inputs: required(record(videoInputs)),
  },
};

export function fieldsOf(type: V2Type): Fields {
  return known.get(type) ?? common;
}

const known = new Map<V2Type, Fields>(V2_TYPES.map((type) => [type, { name: text, ...common, ...own[type] }]));

export function isV2Type(value: unknown): value is V2Type {
  return V2_TYPES.some((type) => type === value);
}

export interface ShapedValue {
  readonly path: JsonPath;
  readonly value: unknown;
  readonly shape: Shape;
}

export function valuesOf(body: JsonRecord, fields: Fields, path: JsonPath = []): ShapedValue[] {
  return Object.entries(fields).flatMap(([name, { shape, isRequired }]) => {
    const value = (Object.hasOwn(body, name) ? body[name] : undefined) ?? undefined;
    return value === undefined && !isRequired ? [] : partsOf(value, shape, [...path, name]);
  });
}

function partsOf(value: unknown, shape: Shape, path: JsonPath): ShapedValue[] {
  if (shape.is === "list" && Array.isArray(value))
    return value.flatMap((item, index) => partsOf(item, shape.item, [...path, index]));
  if (shape.is === "record" && isRecord(value)) return valuesOf(value, shape.fields, path);
  return [{ path, value, shape }];
}

/** Names of fields that contain the id of the body itself or of its output. */
export const OWN_IDS: ReadonlySet<unknown> = new Set([
  "generation_id",
  "generation_ids",
  "reserved_asset_id",
  "reserved_asset_ids",
  "id",
  "asset_id",
  "batch_results",
]);

const NO_REFERENCES = new Set([
  ...OWN_IDS,
  ...Object.keys(ANSWER_FIELDS),
  ...["workspace_id", "agent_thread_id", "ai_model_id", "model_id"],
]);

export function usedIds(body: JsonRecord, type: V2Type) {
  return valuesOf(body, fieldsOf(type)).flatMap(({ path, value, shape }) => {
    const isId = shape.is === "id" || shape.is === "url" || (shape.is === "list" && shape.item.is === "id");
    const isReference = isId && !path.some((part) => NO_REFERENCES.has(part));
    return isReference && typeof value === "string" ? [{ path, id: value }] : [];
  });
}
