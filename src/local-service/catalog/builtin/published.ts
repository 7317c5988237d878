import type { FamilyPrice } from "../../../core/families/index.ts";
import { definitionOfEntry } from "../infer.ts";
import {
  combinations,
  inputObject,
  type JsonSchema,
  MAX_FILM_BYTES,
  MAX_IMAGE_BYTES,
  type Modality,
  type ModelDefinition,
  OUTPUT_SCHEMA,
  mediaReference as reference,
  steps,
  VISIBLE,
} from "../model.ts";

// Models with the published fields and limits of hosted services. Names, texts and prices are invented.

const SOUND_BYTES = 104_857_600;
const LARGE_IMAGE_BYTES = 30_000_000;

const oneOf = (values: readonly (string | number)[], preset?: string | number): JsonSchema => ({
  type: typeof values[0] === "number" ? "integer" : "string",
  enum: values,
  ...(preset !== undefined && { default: preset }),
});
const seconds = (from: number, to: number, step = 1) => oneOf(steps(from * 1000, to * 1000, step * 1000));
const flag = (preset: boolean): JsonSchema => ({ type: "boolean", default: preset });
const words = (bounds: JsonSchema = {}): JsonSchema => ({ type: "string", pattern: VISIBLE, ...bounds });
const one = { num_outputs: oneOf([1], 1) };

type Limits = Readonly<Record<string, number>>;
const picture = (role: string, bytes: number, limits: Limits = {}) =>
  reference({ media_type: "image", role, max_file_size_bytes: bytes, description: "An image.", ...limits });
const film = (limits: Limits, role = "input_video") =>
  reference({ media_type: "video", role, max_file_size_bytes: MAX_FILM_BYTES, description: "A video.", ...limits });
const sound = (limits: Limits = {}, role = "audio_input") =>
  reference({ media_type: "audio", role, max_file_size_bytes: SOUND_BYTES, description: "An audio file.", ...limits });
const list = (items: JsonSchema, maxItems: number, limits: Limits = {}): JsonSchema => ({
  type: "array",
  minItems: 1,
  maxItems,
  items,
  ...limits,
});
const references = (maxItems: number, bytes = LARGE_IMAGE_BYTES, limits: Limits = {}) =>
  list(picture("reference", bytes, limits), maxItems);
const frames = (bytes = MAX_IMAGE_BYTES, limits: Limits = {}) => ({
  start_image: picture("start_frame", bytes, limits),
  end_image: picture("end_frame", bytes, limits),
});

type Fields = Readonly<Record<string, JsonSchema>>;

/** Defines a model. Fields whose names end in `!` are required. */
function model(
  id: string,
  modality: Modality,
  { usd, per }: Pick<FamilyPrice, "usd" | "per">,
  description: string,
  { rules = {}, ...fields }: Fields,
): ModelDefinition {
  const required = Object.keys(fields).flatMap((name) => (name.endsWith("!") ? [name.slice(0, -1)] : []));
  const properties = Object.entries(fields).map(([name, schema]) => [name.replace("!", ""), schema] as const);
  const schema = inputObject(required, Object.fromEntries(properties), rules);
  const price_description = `$${usd} per ${per === "1000_characters" ? "1000 characters" : per}`;
  const entry = { id, modality, name: id, description, price_description, logo_url: null };
  return definitionOfEntry({ ...entry, input_schema: schema, output_schema: OUTPUT_SCHEMA }, null, [{ usd, per }]);
}

const CHANGED_VOICE = {
  "audio!": sound(),
  "voice_id!": { type: "string", description: "A voice_id from GET /models/{model}/voices, or of a voice-clone job." },
};
const LIKE_THE_PICTURE = {
  ...one,
  "prompt!": words(),
  "source_video!": film({ min_duration_ms: 1000, max_duration_ms: 8000 }),
  "images!": references(1, MAX_IMAGE_BYTES),
};
const larger = (maxMs: number): Fields => ({
  ...one,
  "source_video!": film({ max_duration_ms: maxMs }),
  "resolution!": oneOf(["1080p", "2K", "4K"]),
});
const largerPicture = { "source_image!": picture("reference", LARGE_IMAGE_BYTES), ...one };
const target = { "target_resolution!": oneOf(["1080p", "2K", "4K"]) };
const drawn = (prompt: JsonSchema): Fields => ({ "prompt!": words(prompt), ...one, enhance_prompt: flag(false) });
const FORMATS = oneOf(["jpeg", "png", "webp"]);
const WIDE = ["2:1", "20:9", "19.5:9", "16:9", "4:3", "3:2", "1:1", "2:3", "3:4", "9:16", "9:19.5", "9:20", "1:2"];
const DETAIL = oneOf(["off", "low", "medium", "high"], "off");
const GPT_IMAGE = {
  ...drawn({ maxLength: 32_000 }),
  "aspect_ratio!": oneOf(["16:9", "9:16", "4:3", "3:4", "1:1"]),
  "resolution!": oneOf(["1K", "2K", "4K"]),
  output_format: FORMATS,
  images: references(16),
  quality: oneOf(["auto", "low", "medium", "high"], "auto"),
  rules: combinations(
    "requires: aspect_ratio, images, prompt, resolution",
    "requires: aspect_ratio, prompt, resolution; must omit: images",
  ),
};
const H3_LENGTH = { min_duration_ms: 2000, max_duration_ms: 15_000 };
const H3_SIDES = { min_dimension_px: 256, max_dimension_px: 5760, min_aspect_ratio: 0.4, max_aspect_ratio: 2.5 };
const SOUND = { usd: 0.002, per: "second" } as const;
const FILM = { usd: 0.12, per: "second" } as const;
const ENLARGED = { usd: 0.1, per: "second" } as const;
const PICTURE = { usd: 0.04, per: "image" } as const;
const INVENTS = "Upscales videos and adds detail.";
const KEEPS = "Upscales videos faithfully.";
const UPSCALES_TRANSPARENCY = "Upscales images that contain transparency.";

export const PUBLISHED_MODELS: readonly ModelDefinition[] = [
  model("elevenlabs-sound-effects", "audio", SOUND, "Generates a sound effect from text.", {
    "text!": words(),
    "duration_ms!": { type: "integer", minimum: 500, maximum: 30_000 },
    prompt_influence: { type: "number", minimum: 0, maximum: 1, default: 0.3 },
    loop: flag(false),
  }),
  model("elevenlabs-music", "audio", { usd: 0.01, per: "second" }, "Generates music from a prompt.", {
    "prompt!": words(),
    "duration_ms!": { type: "integer", minimum: 3000, maximum: 600_000 },
    lyrics: { type: "string", maxLength: 10_000 },
    force_instrumental: flag(false),
    rules: { dependentSchemas: { lyrics: { properties: { force_instrumental: { const: false } } } } },
  }),
  model("elevenlabs-audio-isolation", "audio", SOUND, "Isolates a voice from background noise.", {
    "audio!": sound(),
  }),
  ...[
    ["elevenlabs-multilingual-sts-v2", "Converts a recording to another voice, in any language."],
    ["elevenlabs-english-sts-v2", "Converts an English recording to another voice."],
  ].map(([id, description]) => model(id!, "audio", { usd: 0.004, per: "second" }, description!, CHANGED_VOICE)),
  model("elevenlabs-voice-clone", "audio", { usd: 1, per: "job" }, "Clones a voice from a recording.", {
    "audio!": sound(),
    "name!": { type: "string", minLength: 1 },
  }),
  ...[
    ["eyeline-id-restyle", "Restyles a video to match an edited first frame."],
    ["eyeline-id-relight", "Relights a video to match an edited first frame."],
  ].map(([id, description]) => model(id!, "video", FILM, description!, LIKE_THE_PICTURE)),
  model("topaz-video-upscaler", "video", ENLARGED, "Upscales videos.", {
    ...larger(600_000),
    fps_engine: oneOf(["standard", "high"]),
    tuning: oneOf(["standard", "auto"], "standard"),
  }),
  ...[
    ["topaz-video-upscaler-starlight-fast", "Upscales videos quickly and adds detail."],
    ["topaz-video-upscaler-starlight-hq", INVENTS],
  ].map(([id, description]) =>
    model(id!, "video", ENLARGED, description!, { ...larger(300_000), reduce_sharpening: flag(false) }),
  ),
  model("topaz-video-upscaler-starlight-precise", "video", ENLARGED, KEEPS, {
    ...larger(300_000),
    reduce_sharpening: DETAIL,
  }),
  model("topaz-video-upscaler-hyperion-2-5", "video", ENLARGED, "Converts videos to high dynamic range.", {
    ...one,
    "source_video!": film({ max_duration_ms: 600_000 }),
  }),
  model("flux-3-video-upscaler-creative", "video", ENLARGED, INVENTS, larger(20_000)),
  model("flux-3-video-upscaler-precise", "video", ENLARGED, KEEPS, larger(20_000)),
  model("topaz-image-upscaler", "image", PICTURE, "Upscales images.", {
    ...largerPicture,
    ...target,
    face_recovery: DETAIL,
    face_recovery_creativity: oneOf(["none", "low", "medium", "high"], "none"),
  }),
  model("topaz-image-upscaler-wonder", "image", PICTURE, "Upscales images and adds detail.", {
    ...largerPicture,
    ...target,
    enhancement_strength: oneOf(["low", "medium", "high"], "high"),
    film_grain: flag(false),
  }),
  model("topaz-image-upscaler-transparency", "image", PICTURE, UPSCALES_TRANSPARENCY, largerPicture),
  model(
    "creatify-aurora",
    "video",
    { usd: 0.14, per: "second" },
    "Animates a face so that its lips match the given audio.",
    {
      ...one,
      prompt: words(),
      "resolution!": oneOf(["480p", "720p"]),
      "start_image!": picture("start_frame", MAX_IMAGE_BYTES),
      "audio!": sound({ max_duration_ms: 60_000 }),
    },
  ),
  model("ltx-2-5", "video", FILM, "Generates videos, optionally from audio.", {
    ...one,
    "prompt!": words({ minLength: 1, maxLength: 5000 }),
    "resolution!": oneOf(["1080p", "720p", "1440p", "2160p"]),
    "aspect_ratio!": oneOf(["auto", "16:9", "9:16"]),
    audio: sound({ min_duration_ms: 2000, max_duration_ms: 20_000 }),
    ...frames(),
    generate_audio: flag(true),
    duration_ms: seconds(6, 20, 2),
    quality: oneOf(["fast", "pro"], "fast"),
    rules: combinations(
      "requires: aspect_ratio, audio, prompt; must omit: duration_ms, end_image, generate_audio; accepts resolution: 1080p",
      "requires: aspect_ratio, duration_ms, prompt, resolution, start_image; must omit: audio; accepts quality: fast",
      "requires: aspect_ratio, duration_ms, prompt, resolution; must omit: audio, end_image, start_image; accepts aspect_ratio: 16:9 | 9:16; quality: fast",
      "requires: aspect_ratio, duration_ms, prompt, resolution, start_image; must omit: audio; accepts duration_ms: 6000 | 8000 | 10000; quality: pro; resolution: 1080p | 720p",
      "requires: aspect_ratio, duration_ms, prompt, resolution; must omit: audio, end_image, start_image; accepts aspect_ratio: 16:9 | 9:16; duration_ms: 6000 | 8000 | 10000; quality: pro; resolution: 1080p | 720p",
    ),
  }),
  model("wan-3-0", "video", FILM, "Generates videos of up to 30 seconds.", {
    ...one,
    "prompt!": words({ minLength: 1, maxLength: 5000 }),
    "aspect_ratio!": oneOf(["adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"]),
    "resolution!": oneOf(["480p", "720p", "1080p"]),
    "duration_ms!": seconds(2, 30),
    generate_audio: flag(true),
    seed: { type: "integer", minimum: 0, maximum: 2_147_483_647 },
    ...frames(20_000_000),
    images: references(10, 20_000_000),
    videos: list(film({ max_duration_ms: 15_000 }, "reference"), 5, { max_total_duration_ms: 15_000 }),
    audios: list(sound({ max_duration_ms: 15_000 }, "reference"), 5, { max_total_duration_ms: 15_000 }),
    quality: oneOf(["standard", "prime"], "standard"),
    rules: combinations(
      "requires: aspect_ratio, duration_ms, prompt, resolution, start_image; must omit: audios, images, videos",
      "requires: aspect_ratio, duration_ms, images, prompt, resolution; must omit: end_image, start_image",
      "requires: aspect_ratio, duration_ms, prompt, resolution; must omit: audios, end_image, images, start_image, videos",
    ),
  }),
  model("minimax-h3", "video", FILM, "Generates videos of up to 15 seconds.", {
    ...one,
    "prompt!": words({ minLength: 1, maxLength: 7000 }),
    "resolution!": oneOf(["480p", "768p", "2K", "4K"]),
    "duration_ms!": seconds(5, 15),
    ...frames(LARGE_IMAGE_BYTES, H3_SIDES),
    aspect_ratio: oneOf(["1:1", "3:4", "4:3", "16:9", "21:9", "9:16", "adaptive"]),
    images: references(5, LARGE_IMAGE_BYTES, H3_SIDES),
    videos: list(film(H3_LENGTH, "reference"), 3, { max_total_duration_ms: 15_000 }),
    audios: list(sound(H3_LENGTH, "reference"), 3, { max_total_duration_ms: 15_000 }),
    rules: combinations(
      "requires: duration_ms, prompt, resolution, start_image; must omit: aspect_ratio, audios, end_image, images, videos",
      "requires: duration_ms, end_image, prompt, resolution, start_image; must omit: aspect_ratio, audios, images, videos",
      "requires: aspect_ratio, duration_ms, images, prompt, resolution; must omit: end_image, start_image",
      "requires: aspect_ratio, duration_ms, prompt, resolution; must omit: audios, end_image, images, start_image, videos; accepts aspect_ratio: 1:1 | 3:4 | 4:3 | 16:9 | 21:9 | 9:16",
    ),
  }),
  model("grok-imagine", "image", PICTURE, "Generates images, or edits up to three images.", {
    ...drawn({ maxLength: 8000 }),
    images: references(3),
    output_format: FORMATS,
    aspect_ratio: oneOf(["auto", ...WIDE]),
    resolution: oneOf(["1k", "2k"]),
    quality: oneOf(["standard", "quality"], "standard"),
    rules: combinations(
      "requires: images, prompt; must omit: aspect_ratio, resolution; accepts quality: standard",
      "requires: aspect_ratio, images, prompt, resolution; accepts quality: quality",
      `requires: aspect_ratio, prompt, resolution; must omit: images; accepts aspect_ratio: ${WIDE.join(" | ")}; quality: quality`,
      `requires: aspect_ratio, prompt; must omit: images, resolution; accepts aspect_ratio: ${WIDE.join(" | ")}; quality: standard`,
    ),
  }),
  model("grok-imagine-20", "image", PICTURE, "Generates images, or edits up to three images.", {
    ...drawn({ maxLength: 8000 }),
    images: references(3),
    "aspect_ratio!": oneOf(WIDE),
    "resolution!": oneOf(["1k", "2k"]),
    output_format: FORMATS,
  }),
  model("gpt-image-2.5-flare", "image", PICTURE, "Generates images quickly, or edits up to 16 images.", GPT_IMAGE),
  model(
    "gpt-image-2.5-sunburst",
    "image",
    { usd: 0.08, per: "image" },
    "Generates high-quality images, or edits up to 16 images.",
    GPT_IMAGE,
  ),
  model("mai-image-2-5", "image", PICTURE, "Generates images, or edits one image.", {
    ...drawn({ minLength: 3, maxLength: 5000 }),
    "aspect_ratio!": oneOf(["1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3"]),
    images: references(1),
    output_format: FORMATS,
    quality: oneOf(["standard", "pro"], "standard"),
    rules: combinations("requires: aspect_ratio, images, prompt", "requires: aspect_ratio, prompt; must omit: images"),
  }),
];
