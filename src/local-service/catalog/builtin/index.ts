import {
  combinations,
  inputObject,
  MAX_FILM_BYTES,
  MAX_IMAGE_BYTES,
  MAX_SOUND_BYTES,
  type ModelDefinition,
  mediaReference,
  STOCK_VOICES,
  steps,
  visibleText,
  type Work,
} from "../model.ts";
import { PUBLISHED_MODELS } from "./published.ts";
import { builtIn, integer, mediaMs, secondsBegun, text, video, videoToCome } from "./video.ts";

const PER_CHARACTER_MICROS = 30;
const LEAST_SPEECH_MICROS = 1_000;
const CLONE_MICROS = 500_000;

export const speech = builtIn({
  id: "speech-1",
  modality: "audio",
  name: "Speech 1",
  description: "Speaks English text in a stock or cloned voice.",
  prices: "$0.03 per 1000 characters, at least $0.001",
  schema: inputObject(["text", "voice_id"], {
    text: visibleText(5000, "The text to speak."),
    voice_id: {
      type: "string",
      description: "A voice_id from GET /models/speech-1/voices, or outputs[].voice_id of a voice-clone job.",
    },
    speed: { type: "number", minimum: 0.7, maximum: 1.2, default: 1 },
    stability: { type: "number", minimum: 0, maximum: 1 },
    language: { type: "string", enum: ["en"], default: "en" },
  }),
  kind: "speech",
  voices: STOCK_VOICES,
  priceMicros: (work) => Math.max(LEAST_SPEECH_MICROS, [...text(work, "text")].length * PER_CHARACTER_MICROS),
  renderMs: (work) => 1_000 + 2 * text(work, "text").length,
});

export const voiceClone = builtIn({
  id: "voice-clone-1",
  modality: "audio",
  name: "Voice clone 1",
  description: "Clones a voice from a speech sample.",
  prices: "$0.50 per voice",
  schema: inputObject(["audio", "name"], {
    audio: mediaReference({
      media_type: "audio",
      role: "audio_input",
      max_file_size_bytes: MAX_SOUND_BYTES,
      min_duration_ms: 1_000,
      max_duration_ms: 300_000,
      description: "A recording of one speaker.",
    }),
    name: visibleText(100, "The name of the voice."),
  }),
  kind: "voice",
  priceMicros: () => CLONE_MICROS,
  renderMs: () => 3_000,
});

const PER_OUTPUT_MICROS = { standard: 20_000, pro: 60_000 } as const;
const PER_REFERENCE_MICROS = 5_000;

const isPro = (work: Work) => text(work, "quality") === "pro";
const outputs = (work: Work) => integer(work, "num_outputs", 1);

export const image = builtIn({
  id: "image-1",
  modality: "image",
  name: "Image 1",
  description: "Generates 1 to 4 images from a prompt and up to 4 reference images.",
  prices: "standard: $0.02 per image; pro: $0.06 per image; each reference image: $0.005",
  schema: inputObject(["prompt"], {
    prompt: visibleText(4000, "What the image shows."),
    aspect_ratio: { type: "string", enum: ["1:1", "16:9", "9:16", "4:3", "3:4"], default: "1:1" },
    quality: { type: "string", enum: ["standard", "pro"], default: "standard" },
    num_outputs: { type: "integer", enum: steps(1, 4, 1), default: 1 },
    seed: { type: "integer", minimum: 0, maximum: 4_294_967_295 },
    images: {
      type: "array",
      minItems: 1,
      maxItems: 4,
      items: mediaReference({
        media_type: "image",
        role: "reference",
        max_file_size_bytes: MAX_IMAGE_BYTES,
        description: "A reference for colors and shapes.",
      }),
    },
  }),
  kind: "image",
  priceMicros: (work) =>
    outputs(work) * PER_OUTPUT_MICROS[isPro(work) ? "pro" : "standard"] +
    (work.media["images"]?.length ?? 0) * PER_REFERENCE_MICROS,
  renderMs: (work) => 1_500 + outputs(work) * (isPro(work) ? 1_000 : 500),
});

const AVATAR_PER_SECOND_MICROS: Readonly<Record<string, number>> = { "720p": 80_000, "1080p": 120_000 };

const filmMs = (work: Work) => integer(work, "duration_ms", mediaMs(work, "audio"));

export const avatar = builtIn({
  id: "avatar-1",
  modality: "video",
  name: "Avatar 1",
  description: "Animates the face in an image so that it speaks the given audio.",
  prices: "720p: $0.08 per second; 1080p: $0.12 per second",
  schema: inputObject(["start_image", "audio", "prompt", "aspect_ratio", "resolution"], {
    start_image: mediaReference({
      media_type: "image",
      role: "start_frame",
      max_file_size_bytes: MAX_IMAGE_BYTES,
      description: "The image with the face.",
    }),
    audio: mediaReference({
      media_type: "audio",
      role: "audio_input",
      max_file_size_bytes: MAX_SOUND_BYTES,
      max_duration_ms: 120_000,
      description: "The speech.",
    }),
    prompt: visibleText(2500, "How the speaker behaves."),
    aspect_ratio: { type: "string", enum: ["16:9", "9:16", "1:1"] },
    resolution: { type: "string", enum: ["720p", "1080p"] },
    duration_ms: {
      type: "integer",
      minimum: 1000,
      maximum: 120_000,
      description: "Duration of the video. Default: the duration of the audio.",
    },
  }),
  kind: "avatar",
  priceMicros: (work) => secondsBegun(filmMs(work)) * (AVATAR_PER_SECOND_MICROS[text(work, "resolution")] ?? 80_000),
  renderMs: (work) => 5_000 + 0.8 * filmMs(work),
});

const PER_MEGAPIXEL_MICROS = 10_000;
const PER_SECOND_MICROS = 40_000;

const isFilm = (work: Work) => (work.media["source_video"]?.length ?? 0) > 0;

function upscalePrice(work: Work): number {
  if (isFilm(work)) return secondsBegun(mediaMs(work, "source_video")) * PER_SECOND_MICROS;
  const [picture] = work.media["image"] ?? [];
  const megapixels = Math.ceil(((picture?.width ?? 0) * (picture?.height ?? 0)) / 1_000_000);
  return Math.max(1, megapixels) * integer(work, "scale", 2) * PER_MEGAPIXEL_MICROS;
}

export const upscale = builtIn({
  id: "upscale-1",
  modality: "video",
  name: "Upscale 1",
  description: "Upscales a video or an image. Cannot be quoted in advance.",
  prices:
    "priced when the job is submitted: $0.04 per second of video or $0.01 per megapixel of the image, multiplied by the scale",
  schema: inputObject(
    [],
    {
      source_video: mediaReference({
        media_type: "video",
        role: "input_video",
        max_file_size_bytes: MAX_FILM_BYTES,
        max_duration_ms: 60_000,
        description: "The video to upscale.",
      }),
      image: mediaReference({
        media_type: "image",
        role: "reference",
        max_file_size_bytes: MAX_IMAGE_BYTES,
        description: "The image to upscale.",
      }),
      scale: { type: "integer", enum: [2, 4], default: 2 },
    },
    combinations("requires: source_video; must omit: image", "requires: image; must omit: source_video"),
  ),
  kind: (work) => (isFilm(work) ? "video" : "image"),
  unquotable: "The price depends on the size or duration of the input, which is measured when the job is submitted.",
  priceMicros: upscalePrice,
  renderMs: () => 4_000,
  adapt: (work) => ({
    input: { prompt: "enlarged", duration_ms: Math.max(1000, mediaMs(work, "source_video")), ...work.input },
    rename: { image: "images" },
  }),
});

export const imageRetired = builtIn({
  id: "image-0",
  modality: "image",
  name: "Image 0",
  description: "Retired.",
  prices: "no longer sold",
  schema: inputObject(["prompt"], { prompt: visibleText(4000, "What the image shows.") }),
  kind: "image",
  state: { is: "retired", replacedBy: "image-1" },
});

export { STOCK_VOICES };

export const BUILT_IN_MODELS: readonly ModelDefinition[] = [
  image,
  video,
  avatar,
  speech,
  voiceClone,
  upscale,
  imageRetired,
  videoToCome,
  ...PUBLISHED_MODELS,
];
