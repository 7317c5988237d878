import type { Catalog } from "../../plan/index.ts";
import { type Body, given } from "../body.ts";
import type { V2Type } from "../v2/types.ts";
import { findBySlug } from "./slug.ts";
import { type ModelView, type Slot, slotField, viewOf } from "./view.ts";

/** The v3 model for a body, and the confidence of the match. */
export interface Choice {
  readonly view: ModelView;
  readonly quality: string | null;
  /** `mapped`: by the caller; `exact`: by the slug; `only`: the only candidate; the others must be confirmed. */
  readonly by: "mapped" | "exact" | "similar" | "only" | "shape";
  /** Why it was chosen, part by part of the slug; null without a comparison. */
  readonly why: string | null;
  /** Ids of all candidates, the chosen one first. */
  readonly candidates: readonly string[];
}

/** Chooses models; created once per catalog. */
export class ModelChooser {
  readonly #views: readonly ModelView[];
  readonly #byId: ReadonlyMap<string, ModelView>;
  readonly #map: ReadonlyMap<string, string>;
  readonly #known = new Map<string, Choice | null>();

  constructor(catalog: Catalog, map: ReadonlyMap<string, string>) {
    this.#views = catalog
      .models()
      .map(viewOf)
      .filter((view) => view !== null)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#byId = new Map(this.#views.map((view) => [view.id, view]));
    this.#map = map;
  }

  /** `named` is the slug or id in the body; null when it has none. */
  choose(need: Need, named: string | null): Choice | null {
    const key = `${need.type} ${need.must.join()} ${need.also.join()} ${named ?? ""}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const choice = this.#choose(need, named);
    this.#known.set(key, choice);
    return choice;
  }

  #choose(need: Need, named: string | null): Choice | null {
    const candidates = this.#candidates(need);
    const ids = candidates.map(({ id }) => id);
    const first = (view: ModelView) => [view.id, ...ids.filter((id) => id !== view.id)];
    const mapped = named === null ? undefined : this.#byId.get(this.#map.get(named) ?? "");
    if (mapped !== undefined && isOfType(mapped, need)) {
      return { view: mapped, quality: null, by: "mapped", why: null, candidates: first(mapped) };
    }
    const [best] = candidates;
    const ofType = this.#views.filter((view) => isOfType(view, need));
    const { match, otherVersions } =
      named === null || isUuid(named) ? { match: null, otherVersions: [] } : findBySlug(named, ofType);
    // An exact match is used even when the model lacks a field; a similar one is not.
    const isUsable = match !== null && (match.confidence === "exact" || candidates.includes(match.view));
    if (isUsable) {
      const { view, quality, why } = match;
      const isSure = match.confidence === "exact" && (TYPE_FACTS[need.type].isCertain || candidates.includes(view));
      return { view, quality, by: isSure ? "exact" : "similar", why, candidates: first(view) };
    }
    if (best === undefined) return null;
    const isOnly = candidates.length === 1 && named === null && TYPE_FACTS[need.type].isCertain;
    const why = otherVersions.length === 0 ? null : `only other versions are there: ${otherVersions.join(", ")}`;
    return { view: best, quality: null, by: isOnly ? "only" : "shape", why, candidates: ids };
  }

  #candidates(need: Need): readonly ModelView[] {
    const found = this.#views.flatMap((view) => {
      const suitability = suits(view, need);
      return suitability === null ? [] : [{ view, ...suitability }];
    });
    // A model with required fields that the body lacks is a candidate only where there is no better one.
    const least = Math.min(...found.map(({ unmet }) => unmet));
    return found
      .filter(({ unmet }) => unmet === least)
      .sort((a, b) => b.met - a.met || (a.view.id < b.view.id ? -1 : 1))
      .map(({ view }) => view);
  }
}

function isOfType(view: ModelView, need: Need): boolean {
  const { yields } = TYPE_FACTS[need.type];
  return view.yields === yields || suits(view, need) !== null;
}

export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);
}

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
  if (type === "voice_clone") also.push("name");
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
    default:
      return [need(...TYPE_FACTS[type].must)];
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
  /** Beginning of step names where the body has none. */
  readonly short: string;
  /** Inputs that the model must take; more where the body says so. */
  readonly must: readonly Slot[];
  readonly yields: ModelView["yields"];
  /** Keywords in id, name or description of models of this type; null when the inputs are sufficient evidence. */
  readonly hint: RegExp | null;
  /** False where the v2 documentation knows no v3 counterpart: a match must be confirmed. */
  readonly isCertain: boolean;
}

const UPSCALE = /up-?scal|enlarg|super-?res/i;

export const TYPE_FACTS: Readonly<Record<V2Type, TypeFacts>> = {
  image: { short: "image", must: ["prompt"], yields: "image", hint: null, isCertain: true },
  image_to_image: { short: "image", must: ["prompt"], yields: "image", hint: null, isCertain: true },
  video: { short: "video", must: ["prompt"], yields: "video", hint: null, isCertain: true },
  text_to_speech: { short: "speech", must: ["text", "voice"], yields: "audio", hint: null, isCertain: true },
  text_to_sound: { short: "sound", must: ["text"], yields: "audio", hint: /sound|sfx|effect|foley/i, isCertain: false },
  speech_to_speech: { short: "speech", must: ["audio", "voice"], yields: "audio", hint: null, isCertain: false },
  voice_clone: { short: "voice", must: ["audio"], yields: "voice", hint: null, isCertain: true },
  audio_isolation: {
    short: "isolation",
    must: ["audio"],
    yields: "audio",
    hint: /isolat|denois|separat|clean/i,
    isCertain: false,
  },
  image_upscale: { short: "upscale", must: ["image"], yields: "image", hint: UPSCALE, isCertain: false },
  video_upscale: { short: "upscale", must: ["video"], yields: "video", hint: UPSCALE, isCertain: false },
  video_to_video: { short: "restyle", must: ["video", "prompt"], yields: "video", hint: null, isCertain: false },
  motion_control: {
    short: "motion",
    must: ["video", "start"],
    yields: "video",
    hint: /motion|control|transfer|animate/i,
    isCertain: false,
  },
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
