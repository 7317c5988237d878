import type { MediaKind } from "../../plan/plan.ts";
import type { FieldView, ModelView } from "./view.ts";

/** The inputs of a v2 body by purpose; models name the fields differently. */
export type Slot =
  | "prompt"
  | "text"
  | "voice"
  | "start"
  | "end"
  | "images"
  | "image"
  | "audio"
  | "audios"
  | "video"
  | "videos"
  | "name";

interface SlotFacts {
  /** Field names, in order of preference. */
  readonly names: readonly string[];
  readonly takes: MediaKind | "voice" | "json";
  /** Media role that identifies a field of another name. */
  readonly role?: string;
}

const SLOTS: Readonly<Record<Slot, SlotFacts>> = {
  prompt: { names: ["prompt", "text"], takes: "json" },
  text: { names: ["text", "prompt"], takes: "json" },
  voice: { names: ["voice_id", "voice"], takes: "voice" },
  start: { names: ["start_image", "first_frame", "image"], takes: "image", role: "start_frame" },
  end: { names: ["end_image", "last_frame"], takes: "image", role: "end_frame" },
  images: { names: ["images", "reference_images", "image"], takes: "image", role: "reference" },
  image: { names: ["image", "source_image", "images", "start_image"], takes: "image" },
  audio: { names: ["audio", "audios", "source_audio"], takes: "audio", role: "audio_input" },
  audios: { names: ["audios", "reference_audios"], takes: "audio", role: "reference" },
  video: { names: ["source_video", "video"], takes: "video", role: "input_video" },
  videos: { names: ["videos", "reference_videos"], takes: "video", role: "reference" },
  name: { names: ["name"], takes: "json" },
};

/** The model's field for a slot; null when it has none. */
export function slotField({ fields }: ModelView, slot: Slot): FieldView | null {
  const { names, takes, role } = SLOTS[slot];
  const fits = (field: FieldView | undefined): field is FieldView => field !== undefined && holds(field, takes);
  const named = names.map((name) => fields.get(name)).find(fits);
  if (named !== undefined) return named;
  if (role === undefined) return null;
  return [...fields.values()].find((field) => field.role === role && fits(field)) ?? null;
}

function holds(field: FieldView, requested: SlotFacts["takes"]): boolean {
  const { takes } = field;
  // The schema treats preset voices as a plain enumeration; we treat them as a voice.
  if (requested === "voice") return takes.what === "voice" || (takes.what === "json" && field.values !== null);
  if (takes.what !== "media") return requested === "json" && takes.what === "json" && field.values === null;
  return requested !== "json" && (takes.kinds.length === 0 || takes.kinds.includes(requested));
}
