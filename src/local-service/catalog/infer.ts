import { includes } from "../../core/catalog/validate/family-rules.ts";
import type { Family, FamilyCondition, FamilyPrice } from "../../core/families/index.ts";
import { isRecord } from "../json.ts";
import { micros } from "../money.ts";
import { customShotsMs } from "../render/size.ts";
import type { JobKind } from "../store/rows.ts";
import { secondsBegun } from "./builtin/video.ts";
import { type CatalogEntry, type JsonSchema, type ModelDefinition, STOCK_VOICES, type Work } from "./model.ts";

type Kind = Exclude<JobKind, "chat">;

const ASSUMED_MS = 5_000;

const number = (value: unknown, fallback: number) => (typeof value === "number" && value > 0 ? value : fallback);

function lengthMs({ input, media }: Work): number {
  const source = [...(media["audio"] ?? []), ...(media["source_video"] ?? [])];
  const given = source.reduce((sum, item) => sum + (item.durationMs ?? 0), 0);
  return customShotsMs(input) ?? number(input["duration_ms"], given > 0 ? given : ASSUMED_MS);
}

function characters({ input }: Work): number {
  return [input["text"], input["prompt"]].reduce(
    (sum: number, text) => sum + (typeof text === "string" ? text.length : 0),
    0,
  );
}

const GUESSED_PRICES: Readonly<Record<Kind, FamilyPrice>> = {
  image: { usd: 0.02, per: "image" },
  video: { usd: 0.05, per: "second" },
  avatar: { usd: 0.05, per: "second" },
  speech: { usd: 0.03, per: "1000_characters" },
  sound: { usd: 0.002, per: "second" },
  voice: { usd: 0.5, per: "job" },
};

function guessRenderMs(kind: Kind, work: Work): number {
  if (kind === "video" || kind === "avatar") return 6_000 + 0.8 * lengthMs(work);
  return kind === "image" ? 2_000 : 3_000;
}

const FIELD_OF_ROLE: Readonly<Record<string, string>> = {
  start_frame: "start_image",
  end_frame: "end_image",
  reference: "images",
  audio_input: "audio",
  input_video: "source_video",
};

const TARGET_PX: Readonly<Record<string, number>> = { "1080p": 1080, "2k": 1440, "4k": 2160 };

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
}

function annotation(property: unknown, name: "media_type" | "role"): string | null {
  if (!isRecord(property)) return null;
  const own = property[name];
  if (typeof own === "string") return own;
  return "items" in property ? annotation(property["items"], name) : null;
}

function inferKind({ id, modality, input_schema: schema }: CatalogEntry): Kind {
  const properties = propertiesOf(schema);
  const takesSound = Object.values(properties).some((property) =>
    annotation(property, "media_type")?.startsWith("audio"),
  );
  if (modality === "image") return "image";
  if (modality === "video") return takesSound ? "avatar" : "video";
  const hasVoice = "voice_id" in properties;
  if (!takesSound) return hasVoice || !("duration_ms" in properties) ? "speech" : "sound";
  if ("text" in properties || "prompt" in properties) return "speech";
  return !hasVoice && ("name" in properties || /clon/i.test(id)) ? "voice" : "sound";
}

function inferNames(schema: JsonSchema): Readonly<Record<string, string>> {
  const names = Object.entries(propertiesOf(schema)).flatMap(([field, property]) => {
    const role = annotation(property, "role") ?? "";
    const isPicture = annotation(property, "media_type")?.startsWith("image") !== false;
    const known = role === "reference" && !isPicture ? `reference_${field}` : FIELD_OF_ROLE[role];
    return known === undefined ? [] : [[field, known] as const];
  });
  return Object.fromEntries(names);
}

function listsVoices(schema: JsonSchema): boolean {
  const voice = propertiesOf(schema)["voice_id"];
  return isRecord(voice) && ("enum" in voice || "const" in voice);
}

function inferInput(kind: Kind, work: Work): Work["input"] {
  const { input } = work;
  const text = [input["text"], input["prompt"]].find((value) => typeof value === "string") ?? "something";
  if (kind === "speech") return { text, ...input };
  if (kind === "voice") return { name: "voice", ...input };
  return { prompt: text, ...scaleOf(work), ...input };
}

function priceMicros(prices: readonly FamilyPrice[], work: Work): number {
  const price = prices.find(({ when }) => applies(when, work));
  return price === undefined ? 0 : Math.round(micros(price.usd) * unitsOf(price.per, work));
}

function unitsOf(per: FamilyPrice["per"], work: Work): number {
  const outputs = number(work.input["num_outputs"], 1);
  switch (per) {
    case "job":
      return 1;
    case "image":
      return outputs;
    case "second":
      return secondsBegun(lengthMs(work)) * outputs;
    case "1000_characters":
      return characters(work) / 1000;
    default:
      return per satisfies never;
  }
}

/** Returns whether the input meets a condition. The input must already contain its default values. */
function applies(when: FamilyCondition | undefined, { input }: Work): boolean {
  if (when === undefined) return true;
  const value = input[when.field] ?? null;
  return when.is === undefined ? value !== null : includes(when.is, value);
}

function scaleOf({ input, media }: Work): { readonly scale?: number } {
  const [source] = media["source_video"] ?? media["source_image"] ?? [];
  if (source === undefined || (source.kind === "image" && "aspect_ratio" in input)) return {};
  const target = TARGET_PX[String(input["target_resolution"] ?? input["resolution"]).toLowerCase()];
  const short = Math.min(source.width ?? 0, source.height ?? 0);
  if (target === undefined || short === 0) return { scale: source.kind === "image" ? 2 : 1 };
  return { scale: Math.max(1, target / short) };
}

export function definitionOfEntry(
  entry: CatalogEntry,
  family: Family | null,
  prices: readonly FamilyPrice[] = [],
): ModelDefinition {
  const kind = inferKind(entry);
  const rename = inferNames(entry.input_schema);
  const speaks = kind === "speech" || (kind === "sound" && "voice_id" in propertiesOf(entry.input_schema));
  const has = (work: Work, name: string) =>
    Object.entries(work.media).some(([field, files]) => (rename[field] ?? field) === name && files.length > 0);
  return {
    entry,
    state: { is: "live" },
    // Only audio together with a start image makes an avatar. Otherwise, the model makes an ordinary video.
    kind: (work) => (kind === "avatar" && !(has(work, "audio") && has(work, "start_image")) ? "video" : kind),
    unquotable: null,
    priceMicros: (work) => priceMicros([...(family?.prices ?? []), ...prices, GUESSED_PRICES[kind]], work),
    renderMs: (work) => family?.typicalMs ?? guessRenderMs(kind, work),
    listsVoices: listsVoices(entry.input_schema),
    voices: speaks ? STOCK_VOICES : [],
    oldIds: {},
    adapt: (work) => ({ input: inferInput(kind, work), rename }),
  };
}
