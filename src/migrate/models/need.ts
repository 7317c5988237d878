import { type Body, given } from "../body.ts";
import type { V2Type } from "../v2/types.ts";
import { type Slot, slotField } from "./slots.ts";
import type { ModelView } from "./view.ts";

/** A body's requirements for its model, and fallbacks when no model meets the first. */
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

/** What a body requires of a model. */
export interface Need {
  readonly type: V2Type;
  /** Inputs that the model must take to be a candidate. */
  readonly must: readonly Slot[];
  /** Further inputs of the body. */
  readonly also: readonly Slot[];
}

interface TypeFacts {
  readonly yields: ModelView["yields"];
  /** Keywords in id, name or description of models of this type; null when the inputs are sufficient evidence. */
  readonly hint: RegExp | null;
  /** False where the v2 documentation knows no v3 counterpart: a match must be confirmed. */
  readonly isCertain: boolean;
}

const UPSCALE = /up-?scal|enlarg|super-?res/i;

export const TYPE_FACTS: Readonly<Record<V2Type, TypeFacts>> = {
  image: { yields: "image", hint: null, isCertain: true },
  image_to_image: { yields: "image", hint: null, isCertain: true },
  video: { yields: "video", hint: null, isCertain: true },
  text_to_speech: { yields: "audio", hint: null, isCertain: true },
  text_to_sound: { yields: "audio", hint: /sound|sfx|effect|foley/i, isCertain: false },
  speech_to_speech: { yields: "audio", hint: null, isCertain: false },
  voice_clone: { yields: "voice", hint: null, isCertain: true },
  audio_isolation: { yields: "audio", hint: /isolat|denois|separat|clean/i, isCertain: false },
  image_upscale: { yields: "image", hint: UPSCALE, isCertain: false },
  video_upscale: { yields: "video", hint: UPSCALE, isCertain: false },
  video_to_video: { yields: "video", hint: null, isCertain: false },
  motion_control: { yields: "video", hint: /motion|control|transfer|animate/i, isCertain: false },
};

/** How well a model meets the requirements. */
export interface Suitability {
  /** Number of the body's fields that it has an input for. */
  readonly met: number;
  /** Number of its required fields that the body lacks. */
  readonly unmet: number;
}

/** Null for a model that is not a candidate. */
export function suits(view: ModelView, need: Need): Suitability | null {
  const { yields, hint } = TYPE_FACTS[need.type];
  if (!makes(view, need, yields)) return null;
  const { id, name, description } = view.model;
  if (hint !== null && !hint.test(`${id} ${name ?? ""} ${description ?? ""}`)) return null;
  if (need.must.some((slot) => slotField(view, slot) === null)) return null;
  const given = [...need.must, ...need.also].map((slot) => slotField(view, slot)?.name);
  const met = new Set(given.filter((field) => field !== undefined));
  const unmet = [...view.fields.values()].filter((field) => {
    const needsSource = field.takes.what !== "json" || (field.values === null && field.types.includes("string"));
    return field.isRequired && field.preset === undefined && needsSource && !met.has(field.name);
  });
  return { met: met.size, unmet: unmet.length };
}

/** An upscaler of both images and videos is listed under one modality. */
function makes(view: ModelView, need: Need, yields: ModelView["yields"]): boolean {
  if (view.yields === yields) return true;
  return need.type === "image_upscale" && view.yields === "video" && slotField(view, "image") !== null;
}
