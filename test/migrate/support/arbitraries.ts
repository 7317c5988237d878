import fc from "fast-check";
import { V2_TYPES, type V2Type } from "../../../src/migrate/v2-types.ts";
import { anyCharacter } from "../../support/any-character.ts";

type Body = { readonly [key: string]: unknown };

/** Ids that bodies reserve, return and use. They are few, so that bodies often share them. */
const POOL = Array.from({ length: 26 }, (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`);
const id = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...POOL) }, { weight: 3, arbitrary: fc.uuid() });
const ids = fc.array(id, { maxLength: 6 });

/** Words of people and programs, with characters that can break a literal, a comment or a table. */
const words = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("a lighthouse at dusk", "Good evening, everybody.", "ein Haus am See, 港の夜景 🎏"),
  },
  { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 200 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      `say "hi" \`$\{now}\` \\ 'twice'`,
      "*/ // <b>|x|</b>\n# head\r\n\u2028end",
      "",
      "  ",
      "\u0000",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("x".repeat(130), "word ".repeat(40), "x".repeat(2600), "y".repeat(5200)) },
);

const slug = fc.constantFrom(
  "google/nano-banana-pro",
  "fal/grok-video-i2v",
  "together/hedra-avatar",
  "acme/video-1-pro",
  "acme/image",
  "acme/speech-1",
  "x",
);
const ratio = fc.constantFrom("16:9", "9:16", "1:1", "21:9", "2:3", "4:5", "auto", "1.9");
const resolution = fc.constantFrom("720p", "1080p", "4K", "2K", "480p", "1920x1080", "1080x1920", "HD", "weird");
const language = fc.constantFrom("English", "auto", "Spanish", "Klingon", "Portuguese (Brazil)", "en");

/** Fields that every body may have. */
const common = {
  workspace_id: id,
  agent_thread_id: id,
  generation_id: id,
  generation_ids: ids,
  reserved_asset_id: id,
  reserved_asset_ids: ids,
  model_slug: slug,
  ai_model_id: fc.uuid(),
  model_id: fc.uuid(),
  id,
  asset_id: id,
  status: fc.constantFrom("complete", "queued"),
  batch_results: fc.array(fc.record({ id, asset_id: id }), { maxLength: 3 }),
};

const batch = { batch_size: fc.integer({ min: 1, max: 8 }), name: words };
const unit = fc.double({ min: 0, max: 1, noNaN: true });
const seed = fc.integer({ min: -5, max: 5_000_000_000 });

const image = {
  text_prompt: words,
  aspect_ratio: ratio,
  resolution,
  output_format: fc.constantFrom("png", "jpeg"),
  start_keyframe_id: id,
  reference_image_ids: ids,
  enhance_prompt: fc.boolean(),
  seed,
  negative_prompt: words,
  guidance_scale: fc.double({ min: 0, max: 20, noNaN: true }),
  num_inference_steps: fc.integer({ min: 1, max: 80 }),
  ...batch,
};

const speech = {
  voice_id: id,
  text: words,
  stability: unit,
  speed: fc.double({ min: 0.7, max: 1.2, noNaN: true }),
  language,
  name: words,
};

const point = fc.tuple(fc.integer(), fc.integer());

const videoInputs = fc.record(
  {
    text_prompt: words,
    resolution,
    aspect_ratio: ratio,
    duration_ms: fc.integer({ min: 1, max: 30_000 }),
    generate_audio: fc.boolean(),
    seed,
    negative_prompt: words,
    enhance_prompt: fc.boolean(),
    bounding_box_target: fc.oneof(point, fc.array(point, { maxLength: 3 })),
    character_orientation: fc.constantFrom("video", "image"),
    multi_prompt: fc.array(fc.record({ prompt: words, duration_ms: fc.integer({ min: 3000, max: 15_000 }) }), {
      maxLength: 8,
    }),
    shot_type: fc.constant("customize"),
    cfg_scale: fc.double({ min: 0, max: 3, noNaN: true }),
    model_slug: slug,
  },
  { requiredKeys: ["text_prompt"] },
);

const url = fc.constantFrom("https://cdn.example/a.png", "https://cdn.example/a.png?X-Amz-Signature=secret&x=1");

const audioGeneration = fc.record(
  { ...common, ...speech, type: fc.constant("text_to_speech") },
  { requiredKeys: ["voice_id", "text"] },
);

const fields: Readonly<Record<V2Type, { readonly [name: string]: fc.Arbitrary<unknown> }>> = {
  image,
  image_to_image: image,
  video: {
    generated_video_inputs: videoInputs,
    start_keyframe_id: id,
    start_keyframe_url: url,
    end_keyframe_id: id,
    end_keyframe_url: url,
    audio_id: fc.oneof(id, ids),
    audio_generation: audioGeneration,
    audio_start_ms: fc.integer({ min: -5000, max: 5000 }),
    reference_image_ids: ids,
    reference_audio_ids: ids,
    reference_video_ids: ids,
    video_id: id,
    ...batch,
  },
  text_to_speech: speech,
  text_to_sound: {
    text: words,
    duration_seconds: fc.double({ min: 0.5, max: 30, noNaN: true }),
    prompt_influence: unit,
    loop: fc.boolean(),
    output_format: fc.constantFrom("mp3", "wav"),
  },
  speech_to_speech: { audio_id: id, voice_id: id },
  voice_clone: { audio_id: id, name: words },
  audio_isolation: { audio_id: id },
  image_upscale: {
    image_id: id,
    target_resolution: resolution,
    upscale_factor: fc.double({ min: 1, max: 8, noNaN: true }),
  },
  video_upscale: {
    video_id: id,
    target_resolution: fc.constantFrom("1080p", "2K", "4K"),
    upscale_factor: fc.integer({ min: 1, max: 8 }),
  },
  video_to_video: {
    video_id: id,
    prompt: words,
    reference_image_asset_ids: ids,
    elements: fc.array(
      fc.record(
        { frontal_image_asset_id: id, reference_image_asset_ids: ids },
        { requiredKeys: ["frontal_image_asset_id"] },
      ),
      { maxLength: 2 },
    ),
    keep_audio: fc.boolean(),
  },
  motion_control: { video_id: id, start_keyframe_id: id, generated_video_inputs: videoInputs },
};

const required: Readonly<Record<V2Type, readonly string[]>> = {
  image: ["text_prompt"],
  image_to_image: ["text_prompt"],
  video: ["generated_video_inputs"],
  text_to_speech: ["voice_id", "text"],
  text_to_sound: ["text"],
  speech_to_speech: ["audio_id", "voice_id"],
  voice_clone: ["audio_id", "name"],
  audio_isolation: ["audio_id"],
  image_upscale: ["image_id"],
  video_upscale: ["video_id"],
  video_to_video: ["video_id", "prompt"],
  motion_control: ["video_id", "start_keyframe_id", "generated_video_inputs"],
};

/** Any body of a type that v2 accepts, with null in place of some fields, and sometimes with an unknown field. */
export function bodyOf(type: V2Type): fc.Arbitrary<Body> {
  const all: { readonly [name: string]: fc.Arbitrary<unknown> } = { ...common, ...fields[type] };
  const optional = Object.entries(all).map(([name, value]) => {
    const isRequired = required[type].includes(name);
    return [name, isRequired ? value : fc.option(value, { freq: 12 })] as const;
  });
  const extra: readonly [string, fc.Arbitrary<unknown>] = ["unheard_of", fc.jsonValue({ maxDepth: 2 })];
  return fc
    .record(Object.fromEntries<fc.Arbitrary<unknown>>([...optional, extra]), { requiredKeys: [...required[type]] })
    .map((body) => ({ type, ...body }));
}

/** Any body of any type. */
export const anyBody: fc.Arbitrary<Body> = fc.constantFrom(...V2_TYPES).chain(bodyOf);

/** A document of bodies with shared ids: references, shared files and cycles. */
export const anyDocument: fc.Arbitrary<readonly Body[]> = fc.array(anyBody, { minLength: 1, maxLength: 6 });
