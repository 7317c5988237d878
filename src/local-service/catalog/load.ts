import { z } from "zod";
import type { Family, FamilyCondition, FamilyPrice } from "../../core/families/index.ts";
import { LocalServiceError } from "../errors.ts";
import { isRecord, readJsonFile } from "../json.ts";
import { micros } from "../money.ts";
import type { NormalOptions } from "../options.ts";
import { customShotsMs } from "../render/size.ts";
import type { JobKind } from "../store/rows.ts";
import { isAmong } from "../validate/family-rules.ts";
import { BUILT_IN_MODELS, STOCK_VOICES } from "./builtin/index.ts";
import { secondsBegun } from "./builtin/video.ts";
import {
  type CatalogEntry,
  type JsonSchema,
  type Modality,
  type ModelDefinition,
  type ModelState,
  OUTPUT_SCHEMA,
  type Work,
} from "./model.ts";

const PER_PICTURE_MICROS = 20_000;
const PER_SECOND_MICROS = 50_000;
const PER_CHARACTER_MICROS = 30;
const PER_VOICE_MICROS = 500_000;
const ASSUMED_MS = 5_000;

const number = (value: unknown, fallback: number) => (typeof value === "number" && value > 0 ? value : fallback);

/** Expected duration of the output. */
export function lengthMs({ input, media }: Work): number {
  const sound = (media["audio"] ?? []).reduce((sum, item) => sum + (item.durationMs ?? 0), 0);
  return customShotsMs(input) ?? number(input["duration_ms"], sound > 0 ? sound : ASSUMED_MS);
}

export function characters({ input }: Work): number {
  return [input["text"], input["prompt"]].reduce(
    (sum: number, text) => sum + (typeof text === "string" ? text.length : 0),
    0,
  );
}

/** Fallback price for a model whose price is stated in prose only: per picture, second, character or voice. */
export function guessPriceMicros(kind: Exclude<JobKind, "chat">, work: Work): number {
  const outputs = number(work.input["num_outputs"], 1);
  switch (kind) {
    case "image":
      return PER_PICTURE_MICROS * outputs;
    case "video":
    case "avatar":
      return PER_SECOND_MICROS * Math.ceil(lengthMs(work) / 1000) * outputs;
    case "speech":
      return Math.max(1_000, PER_CHARACTER_MICROS * characters(work));
    case "voice":
      return PER_VOICE_MICROS;
    default:
      return kind satisfies never;
  }
}

/** Simulated processing time, before the speed factor. */
export function guessRenderMs(kind: Exclude<JobKind, "chat">, work: Work): number {
  if (kind === "video" || kind === "avatar") return 6_000 + 0.8 * lengthMs(work);
  return kind === "image" ? 2_000 : 3_000;
}

type Kind = Exclude<JobKind, "chat">;

/** The renderer's name for the media of each role. */
const FIELD_OF_ROLE: Readonly<Record<string, string>> = {
  start_frame: "start_image",
  end_frame: "end_image",
  reference: "images",
  audio_input: "audio",
  input_video: "source_video",
};

function propertiesOf(schema: JsonSchema): Readonly<Record<string, unknown>> {
  return isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
}

/** What a field, or the items of a list, declare about their media. */
function annotation(property: unknown, name: "media_type" | "role"): string | null {
  if (!isRecord(property)) return null;
  const own = property[name];
  if (typeof own === "string") return own;
  return "items" in property ? annotation(property["items"], name) : null;
}

/** Chooses the renderer for a model from its modality and the fields that it takes. */
export function inferKind(modality: Modality, schema: JsonSchema): Kind {
  const properties = propertiesOf(schema);
  const takesSound = Object.values(properties).some((property) =>
    annotation(property, "media_type")?.startsWith("audio"),
  );
  if (modality === "image") return "image";
  if (modality === "video") return takesSound ? "avatar" : "video";
  return takesSound && !("text" in properties) && !("prompt" in properties) ? "voice" : "speech";
}

/** Maps the model's media fields to the renderer's. */
export function inferNames(schema: JsonSchema): Readonly<Record<string, string>> {
  const names = Object.entries(propertiesOf(schema)).flatMap(([field, property]) => {
    const known = FIELD_OF_ROLE[annotation(property, "role") ?? ""];
    return known === undefined ? [] : [[field, known] as const];
  });
  return Object.fromEntries(names);
}

/** Whether the schema enumerates the voices of a text. */
export function listsVoices(schema: JsonSchema): boolean {
  const voice = propertiesOf(schema)["voice_id"];
  return isRecord(voice) && ("enum" in voice || "const" in voice);
}

/** Fields that a renderer requires, read from wherever a model declares them. */
export function inferInput(kind: Kind, work: Work): Work["input"] {
  const { input } = work;
  const said = [input["text"], input["prompt"]].find((value) => typeof value === "string") ?? "something";
  if (kind === "speech") return { text: said, ...input };
  return kind === "voice" ? { name: "voice", ...input } : { prompt: said, ...input };
}

/** The configured price of a model's family, in micro-dollars; null where none applies. */
export function familyPriceMicros(prices: readonly FamilyPrice[], work: Work): number | null {
  const price = prices.find(({ when }) => applies(when, work));
  return price === undefined ? null : Math.round(micros(price.usd) * unitsOf(price.per, work));
}

function unitsOf(per: FamilyPrice["per"], work: Work): number {
  const requested = work.input["num_outputs"];
  const outputs = typeof requested === "number" ? requested : 1;
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

/** Defaults are already filled. */
function applies(when: FamilyCondition | undefined, { input }: Work): boolean {
  if (when === undefined) return true;
  const value = input[when.field] ?? null;
  return when.is === undefined ? value !== null : isAmong(value, when.is);
}

/** Settings in a catalog file for the local service only; not shown to callers. */
const localPart = z.strictObject({
  /** Dollars per job. Default: that of its family, else estimated from modality and input. */
  price_usd: z.number().min(0).optional(),
  /** Why the model has no quote. */
  unquotable: z.string().optional(),
  /** 410 GONE; names the successor, or null for none. */
  replaced_by: z.string().nullable().optional(),
  /** 400 FAILED_PRECONDITION with this message. */
  unsupported: z.string().optional(),
  /** Whether `GET /models` lists it although it is unsupported. Default: false. */
  listed: z.boolean().optional(),
});

/** A model as `GET /models/{model}` returns it. Unknown fields are preserved. */
const fileEntry = z.looseObject({
  id: z.string().min(1).max(200),
  modality: z.enum(["image", "video", "audio"]),
  name: z.string().nullish(),
  description: z.string().nullish(),
  price_description: z.string().nullish(),
  logo_url: z.string().nullish(),
  input_schema: z.unknown(),
  output_schema: z.record(z.string(), z.unknown()).nullish(),
  x_local: localPart.optional(),
});

const catalogFile = z.union([
  z.array(z.unknown()),
  z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data),
]);

type FileEntry = z.infer<typeof fileEntry>;

const broken = (text: string, cause?: unknown) => new LocalServiceError("CATALOG_INVALID", text, { cause });

function stateOf(local: FileEntry["x_local"]): ModelState {
  if (local?.replaced_by !== undefined) return { is: "retired", replacedBy: local.replaced_by };
  if (local?.unsupported === undefined) return { is: "live" };
  return { is: "unsupported", message: local.unsupported, isListed: local.listed === true };
}

function entryOf({ x_local: _local, ...file }: FileEntry): CatalogEntry {
  return {
    ...file,
    name: file.name ?? null,
    description: file.description ?? null,
    price_description: file.price_description ?? "",
    logo_url: file.logo_url ?? null,
    // A malformed schema is detected when it is compiled, and disables only this model.
    input_schema: file.input_schema as CatalogEntry["input_schema"],
    output_schema: file.output_schema ?? OUTPUT_SCHEMA,
  };
}

/** Drops the fields that the API description does not define. */
function described(entry: FileEntry): FileEntry {
  return z.object(fileEntry.shape).parse(entry);
}

function definitionOf(file: FileEntry, family: Family | null): ModelDefinition {
  const entry = entryOf(file);
  const kind = inferKind(entry.modality, entry.input_schema);
  const rename = inferNames(entry.input_schema);
  const price = file.x_local?.price_usd;
  return {
    entry,
    state: stateOf(file.x_local),
    kind: () => kind,
    unquotable: file.x_local?.unquotable ?? null,
    priceMicros: (work) => {
      if (price !== undefined) return micros(price);
      return familyPriceMicros(family?.prices ?? [], work) ?? guessPriceMicros(kind, work);
    },
    renderMs: (work) => family?.typicalMs ?? guessRenderMs(kind, work),
    listsVoices: listsVoices(entry.input_schema),
    voices: kind === "speech" ? STOCK_VOICES : [],
    oldIds: {},
    adapt: (work) => ({ input: inferInput(kind, work), rename }),
  };
}

function parseEntry(value: unknown, index: number, source: string): FileEntry {
  const parsed = fileEntry.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = `${source}, model ${index}${issue?.path.length ? `, ${issue.path.join(".")}` : ""}`;
  throw broken(`${where}: ${issue?.message}. Give an array of model objects as GET /models/{model} returns them.`);
}

function readCatalogFile(path: string): unknown {
  try {
    return readJsonFile(path);
  } catch (cause) {
    throw broken(`The catalog ${path} cannot be read as JSON (${String(cause)}).`, cause);
  }
}

/**
 * The models to offer: those of a file or an array, else the built-in ones.
 * @throws LocalServiceError `CATALOG_INVALID` for anything but a list of models; an invalid schema only disables its
 * model
 */
export function loadCatalog(
  catalog: string | readonly unknown[] | null,
  { families, strict }: Pick<NormalOptions, "families" | "strict">,
): readonly ModelDefinition[] {
  if (catalog === null) return BUILT_IN_MODELS;
  const source = typeof catalog === "string" ? catalog : "The catalog";
  const list = catalogFile.safeParse(typeof catalog === "string" ? readCatalogFile(catalog) : catalog);
  if (!list.success) throw broken(`${source} is no array of models.`);
  const entries = list.data.map((value, index) => parseEntry(value, index, source));
  const twice = entries.find((entry, index) => entries.findIndex(({ id }) => id === entry.id) !== index);
  if (twice) throw broken(`${source} has the model ${twice.id} twice.`);
  return entries.map((entry) => definitionOf(strict ? described(entry) : entry, families.of(entry.id)));
}
