import { customShotsMs } from "../../render/size.ts";
import type { JobKind } from "../../store/rows.ts";
import {
  type CatalogEntry,
  inputObject,
  type JsonSchema,
  MAX_IMAGE_BYTES,
  type Modality,
  type ModelDefinition,
  type ModelState,
  mediaReference,
  OUTPUT_SCHEMA,
  steps,
  VISIBLE,
  visibleText,
  type Work,
} from "../model.ts";

export interface BuiltIn extends Partial<Omit<ModelDefinition, "entry" | "kind">> {
  readonly id: string;
  readonly modality: Modality;
  readonly name: string;
  readonly description: string;
  readonly prices: string;
  readonly schema: JsonSchema;
  readonly kind: Exclude<JobKind, "chat"> | ModelDefinition["kind"];
}

const LIVE: ModelState = { is: "live" };

export function builtIn(model: BuiltIn): ModelDefinition {
  const { id, modality, name, description, prices, schema, kind, ...own } = model;
  const entry: CatalogEntry = {
    id,
    modality,
    name,
    description,
    price_description: prices,
    logo_url: null,
    input_schema: schema,
    output_schema: OUTPUT_SCHEMA,
  };
  return {
    state: LIVE,
    unquotable: null,
    priceMicros: () => 0,
    renderMs: () => 0,
    listsVoices: false,
    voices: [],
    oldIds: {},
    ...own,
    entry,
    kind: typeof kind === "function" ? kind : () => kind,
  };
}

export function text(work: Work, field: string): string {
  const value = work.input[field];
  return typeof value === "string" ? value : "";
}

export function integer(work: Work, field: string, fallback: number): number {
  const value = work.input[field];
  return typeof value === "number" ? value : fallback;
}

export function mediaMs(work: Work, field: string): number {
  return (work.media[field] ?? []).reduce((sum, media) => sum + (media.durationMs ?? 0), 0);
}

export function secondsBegun(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

const PER_SECOND_MICROS: Readonly<Record<string, number>> = { "720p": 50_000, "1080p": 90_000, "4K": 200_000 };
const SOUND_PERCENT = 20;

const TIERS: JsonSchema = {
  if: { properties: { quality: { const: "pro" } }, required: ["quality"] },
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
  then: { properties: { resolution: { enum: ["1080p", "4K"] } }, required: ["resolution"] },
  else: { properties: { resolution: { enum: ["720p"] } } },
};

const PROMPT_OR_SHOTS: JsonSchema = { oneOf: [{ required: ["prompt"] }, { required: ["multi_prompt"] }] };

const frame = (role: string, description: string) =>
  mediaReference({ media_type: "image", role, max_file_size_bytes: MAX_IMAGE_BYTES, description });

const SHOT: JsonSchema = {
  type: "object",
  additionalProperties: false,
  required: ["prompt"],
  properties: {
    prompt: { type: "string" },
    duration_ms: { type: "integer", enum: steps(1000, 15_000, 1000), default: 5000 },
  },
};

const filmMs = (work: Work) => customShotsMs(work.input) ?? integer(work, "duration_ms", 5000);

function priceMicros(work: Work): number {
  const perSecond = PER_SECOND_MICROS[text(work, "resolution")] ?? PER_SECOND_MICROS["720p"]!;
  const pictures = secondsBegun(filmMs(work)) * perSecond;
  return work.input["generate_audio"] === false ? pictures : (pictures * (100 + SOUND_PERCENT)) / 100;
}

export const video = builtIn({
  id: "video-1",
  modality: "video",
  name: "Video 1",
  description: "Generates a video of 3 to 15 seconds from a prompt or shots, and optional start and end frames.",
  prices: "720p: $0.05 per second; 1080p: $0.09; 4K: $0.20; with audio: 20% more",
  schema: inputObject(
    ["aspect_ratio", "duration_ms"],
    {
      aspect_ratio: { type: "string", enum: ["16:9", "9:16", "1:1"] },
      duration_ms: { type: "integer", enum: steps(3000, 15_000, 1000) },
      resolution: { type: "string", enum: ["720p", "1080p", "4K"] },
      quality: {
        type: "string",
        enum: ["standard", "pro"],
        default: "standard",
        description: "standard: 720p; pro: 1080p and 4K.",
      },
      prompt: visibleText(2500, "What happens in the video. Use either prompt or multi_prompt."),
      negative_prompt: { type: "string", maxLength: 2500 },
      multi_prompt: {
        type: "array",
        minItems: 1,
        maxItems: 6,
        items: SHOT,
        max_total_duration_ms: 15_000,
        description: "The shots in order, as an alternative to prompt; at most 15000 ms in total.",
      },
      shot_type: {
        type: "string",
        enum: ["customize", "intelligent"],
        description:
          "customize: each shot's duration_ms sets its length; the video is as long as all its shots together.",
      },
      generate_audio: { type: "boolean", default: true },
      num_outputs: { type: "integer", enum: [1], default: 1 },
      cfg_scale: { type: "number", minimum: 0, maximum: 1 },
      start_image: frame("start_frame", "The first frame."),
      end_image: frame("end_frame", "The last frame; requires a start_image."),
    },
    { dependentRequired: { end_image: ["start_image"] }, allOf: [TIERS, PROMPT_OR_SHOTS] },
  ),
  kind: "video",
  priceMicros,
  renderMs: (work) => 6_000 + 0.8 * filmMs(work),
  oldIds: { "video-1-fast": 'Use video-1 with quality "standard".' },
});

export const videoToCome = builtIn({
  id: "video-2",
  modality: "video",
  name: "Video 2",
  description: "Not available on v3 yet.",
  prices: "not announced",
  schema: inputObject(["prompt"], { prompt: { type: "string", pattern: VISIBLE } }),
  kind: "video",
  state: { is: "unsupported", message: "The model video-2 is not supported on v3 yet." },
});
