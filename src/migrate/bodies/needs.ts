import { type Body, given } from "../body.ts";
import type { Need } from "../models/need.ts";
import type { Slot } from "../models/slots.ts";

/** What a body needs of its model, and the needs to fall back on when no model meets the first. */
export function needsOf(body: Body): readonly Need[] {
  const has = (...names: readonly string[]) => names.some((name) => hasAny(given(body, name)));
  const { type } = body;
  const also: Slot[] = [];
  if (has("start_keyframe_id", "start_keyframe_url")) also.push("start");
  if (has("end_keyframe_id", "end_keyframe_url")) also.push("end");
  if (has("reference_image_ids", "reference_image_asset_ids", "elements")) also.push("images");
  if (has("reference_audio_ids")) also.push("audios");
  if (has("reference_video_ids")) also.push("videos");
  const need = (...must: readonly Slot[]): Need => ({ type, must, also });
  switch (type) {
    case "image":
    case "image_to_image": {
      const pictures = also.length > 0 || has("start_keyframe_id");
      const wants: Need = { type, must: ["prompt"], also: pictures ? ["images"] : [] };
      return pictures ? [{ ...wants, must: ["prompt", "images"] }, wants] : [wants];
    }
    case "video": {
      const sound: readonly Slot[] = has("audio_id", "audio_generation") ? ["audio"] : [];
      const film: readonly Slot[] = has("video_id") ? ["video"] : [];
      return [need("prompt", ...sound, ...film), need("prompt", ...sound), need("prompt", ...film), need("prompt")];
    }
    case "text_to_speech":
      return [need("text", "voice")];
    case "text_to_sound":
      return [need("text")];
    case "speech_to_speech":
      return [need("audio", "voice")];
    case "voice_clone":
      return [{ type, must: ["audio"], also: ["name"] }];
    case "audio_isolation":
      return [need("audio")];
    case "image_upscale":
      return [need("image")];
    case "video_upscale":
      return [need("video")];
    case "video_to_video":
      return [need("video", "prompt")];
    case "motion_control":
      return [need("video", "start")];
    default:
      return type satisfies never;
  }
}

function hasAny(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}
