import type { JobKind } from "../store/rows.ts";
import type { JsonSchema, Modality, Work } from "./model.ts";

type Kind = Exclude<JobKind, "chat">;

/** How the renderer calls the media of each role. */
const FIELD_OF_ROLE: Readonly<Record<string, string>> = {
  start_frame: "start_image",
  end_frame: "end_image",
  reference: "images",
  audio_input: "audio",
  input_video: "source_video",
};

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
}

/** What a field, or the items of a list, say of the media they take. */
function annotation(property: unknown, name: "media_type" | "role"): string | null {
  if (!isRecord(property)) return null;
  const own = property[name];
  if (typeof own === "string") return own;
  return "items" in property ? annotation(property["items"], name) : null;
}

/** Which renderer makes what a model of unknown make promises, by its modality and the fields it takes. */
export function inferKind(modality: Modality, schema: JsonSchema): Kind {
  const properties = propertiesOf(schema);
  const takesSound = Object.values(properties).some((property) =>
    annotation(property, "media_type")?.startsWith("audio"),
  );
  if (modality === "image") return "image";
  if (modality === "video") return takesSound ? "avatar" : "video";
  return takesSound && !("text" in properties) && !("prompt" in properties) ? "voice" : "speech";
}

/** The model's own names for media fields → the renderer's. */
export function inferNames(schema: JsonSchema): Readonly<Record<string, string>> {
  const names = Object.entries(propertiesOf(schema)).flatMap(([field, property]) => {
    const known = FIELD_OF_ROLE[annotation(property, "role") ?? ""];
    return known === undefined ? [] : [[field, known] as const];
  });
  return Object.fromEntries(names);
}

/** Whether the schema enumerates the voices that a text may be spoken in. */
export function listsVoices(schema: JsonSchema): boolean {
  const voice = propertiesOf(schema)["voice_id"];
  return isRecord(voice) && ("enum" in voice || "const" in voice);
}

/** What a renderer cannot do without, taken from where a model may have put it. */
export function inferInput(kind: Kind, work: Work): Work["input"] {
  const { input } = work;
  const said = [input["text"], input["prompt"]].find((value) => typeof value === "string") ?? "something";
  if (kind === "speech") return { text: said, ...input };
  return kind === "voice" ? { name: "voice", ...input } : { prompt: said, ...input };
}
