import type { V2Type } from "../v2/types.ts";
import { type Slot, slotField } from "./slots.ts";
import type { ModelView } from "./view.ts";

/** What a body asks of a model. */
export interface Need {
  readonly type: V2Type;
  /** What the model must take, or it is no candidate. */
  readonly must: readonly Slot[];
  /** What the body gives beside that. */
  readonly also: readonly Slot[];
}

interface TypeFacts {
  readonly yields: ModelView["yields"];
  /** Words of id, name or description that a model of this type has; null when its shape says enough. */
  readonly hint: RegExp | null;
  /** False where the v2 documentation knows no v3 counterpart: a match has to be confirmed. */
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

/** How well a model suits a need. */
export interface Suitability {
  /** Fields of the body that it has a place for. */
  readonly met: number;
  /** Fields that it requires and the body does not give. */
  readonly unmet: number;
}

/** Null for a model that is no candidate. */
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

/** An enlarger of both pictures and films is listed under one of them. */
function makes(view: ModelView, need: Need, yields: ModelView["yields"]): boolean {
  if (view.yields === yields) return true;
  return need.type === "image_upscale" && view.yields === "video" && slotField(view, "image") !== null;
}
