import { combinationTable } from "../../core/catalog/index.ts";
import { type Body, given } from "../body.ts";
import type { V2Type } from "../v2-types.ts";
import { type ModelView, type Slot, slotField } from "./view.ts";

/**
 * Returns what a v3 model must accept to be used for this body, strictest need first. A later need applies only if no
 * model meets an earlier one.
 */
export function needsOf(body: Body): readonly Need[] {
  const has = (...names: readonly string[]) => names.some((name) => hasAny(given(body, name)));
  const { type } = body;
  const also: Slot[] = [];
  if (has("start_keyframe_id", "start_keyframe_url")) also.push("start");
  if (has("end_keyframe_id", "end_keyframe_url")) also.push("end");
  if (has("reference_image_ids", "reference_image_asset_ids", "elements")) also.push("images");
  if (has("reference_audio_ids")) also.push("audios");
  if (has("reference_video_ids")) also.push("videos");
  if (type === "voice_clone") also.push("name");
  if (has("target_resolution")) also.push("target");
  const need = (...must: readonly Slot[]): Need => ({ type, must, also });
  const loose = (...must: readonly Slot[]): Need => ({ ...need(...must), isLoose: true });
  switch (type) {
    case "image":
    case "image_to_image": {
      const pictures = also.length > 0;
      const wants: Need = { type, must: ["prompt"], also: pictures ? ["images"] : [] };
      return pictures ? [{ ...wants, must: ["prompt", "images"] }, wants] : [wants];
    }
    case "video": {
      const sound: readonly Slot[] = has("audio_id", "audio_generation") ? ["audio"] : [];
      const film: readonly Slot[] = has("video_id") ? ["video"] : [];
      const others = [need("prompt", ...sound), need("prompt")];
      if (film.length === 0) return others;
      const kept = [need("prompt", ...sound, ...film), need("prompt", ...film)];
      return [...kept, loose(...sound, ...film), loose(...film), ...others];
    }
    case "motion_control":
    case "video_to_video":
      return [need(...TYPE_FACTS[type].must), loose(...TYPE_FACTS[type].must), loose("video")];
    default:
      return [need(...TYPE_FACTS[type].must)];
  }
}

function hasAny(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}

export interface Need {
  readonly type: V2Type;
  readonly must: readonly Slot[];
  /** Optional slots. Models that accept more of them are preferred. */
  readonly also: readonly Slot[];
  /** True for a fallback need, which any model with the required slots meets unless it is an upscaler. */
  readonly isLoose?: true;
}

interface TypeFacts {
  readonly short: string;
  readonly must: readonly Slot[];
  readonly yields: ModelView["yields"];
  /** Pattern that a model's id, name or description must match. */
  readonly hint?: RegExp;
  /** Set if the v2 documentation names no v3 counterpart. */
  readonly isUncertain?: true;
}

const UPSCALE = /up-?scal|enlarg|super-?res/i;
const MOTION = /motion|control|transfer|animate/i;

export const TYPE_FACTS: Readonly<Record<V2Type, TypeFacts>> = {
  image: { short: "image", must: ["prompt"], yields: "image" },
  image_to_image: { short: "image", must: ["prompt"], yields: "image" },
  video: { short: "video", must: ["prompt"], yields: "video" },
  text_to_speech: { short: "speech", must: ["text", "voice"], yields: "audio" },
  text_to_sound: { short: "sound", must: ["text"], yields: "audio", hint: /sound|sfx|effect|foley/i },
  speech_to_speech: { short: "speech", must: ["audio", "voice"], yields: "audio" },
  voice_clone: { short: "voice", must: ["audio"], yields: "voice" },
  audio_isolation: { short: "isolation", must: ["audio"], yields: "audio", hint: /isolat|denois|separat|clean/i },
  image_upscale: { short: "upscale", must: ["image"], yields: "image", hint: UPSCALE },
  video_upscale: { short: "upscale", must: ["video"], yields: "video", hint: UPSCALE },
  video_to_video: { short: "restyle", must: ["video", "prompt"], yields: "video", isUncertain: true },
  motion_control: { short: "motion", must: ["video", "start"], yields: "video", hint: MOTION, isUncertain: true },
};

export function suits(view: ModelView, need: Need) {
  const { yields, hint } = TYPE_FACTS[need.type];
  if (!makes(view, need, yields)) return null;
  const { id, name, description } = view.model;
  const words = `${id} ${name ?? ""} ${description ?? ""}`;
  if (need.isLoose ? UPSCALE.test(words) : hint?.test(words) === false) return null;
  if (need.must.some((slot) => slotField(view, slot) === null)) return null;
  const given = [...need.must, ...need.also].map((slot) => slotField(view, slot)?.name);
  const met = new Set(given.filter((field) => field !== undefined));
  const unmet = [...view.fields.values()].filter((field) => {
    const needsSource = field.takes.what !== "json" || (field.values === null && field.types.includes("string"));
    return field.isRequired && field.preset === undefined && needsSource && !met.has(field.name);
  });
  return { met: met.size, unmet: unmet.length + (fitsTable(view, met) ? 0 : 1) };
}

/** Returns true if the model accepts this combination of fields and requires no other media. */
function fitsTable({ model, fields }: ModelView, met: ReadonlySet<string>): boolean {
  const table = combinationTable(model.inputSchema);
  if (table === null || !table.isWhole || table.rows.length === 0) return true;
  const isMedium = (name: string) => fields.get(name)?.takes.what === "media";
  return table.rows.some(
    ({ requires, omits }) =>
      omits.every((name) => !met.has(name)) && requires.every((name) => met.has(name) || !isMedium(name)),
  );
}

export function keepsFilm(view: ModelView, need: Need): boolean {
  return !need.must.includes("video") || slotField(view, "video") !== null;
}

function makes(view: ModelView, need: Need, yields: ModelView["yields"]): boolean {
  if (view.yields === yields) return true;
  return need.type === "image_upscale" && view.yields === "video" && slotField(view, "image") !== null;
}
