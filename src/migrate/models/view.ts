import { type Matcher, readPattern } from "../../core/catalog/validate/ajv.ts";
import type { CatalogModel, JsonSchema } from "../../core/plan/index.ts";
import type { Json, MediaKind } from "../../core/plan/plan.ts";
import {
  type AcceptedMedia,
  applicable,
  isSchema,
  itemSchemas,
  propertySchemas,
  type SchemaLocation,
  schemaLocation,
  yieldsOf,
} from "../../core/plan/schema.ts";

export interface FieldView {
  readonly name: string;
  readonly takes: AcceptedMedia;
  readonly isRequired: boolean;
  readonly isList: boolean;
  readonly maxItems: number;
  readonly values: readonly Json[] | null;
  readonly types: readonly string[];
  readonly min: number;
  readonly max: number;
  readonly step: number | null;
  readonly maxLength: number;
  /** Matcher for the field's pattern. Null if there is no pattern, or if matching may take exponential time. */
  readonly pattern: Matcher | null;
  readonly preset: Json | undefined;
  readonly role: string | null;
  readonly item: ReadonlyMap<string, FieldView>;
  readonly maxTotalMs: number;
}

export interface ModelView {
  readonly model: CatalogModel;
  readonly id: string;
  readonly yields: MediaKind | "voice";
  readonly fields: ReadonlyMap<string, FieldView>;
}

const views = new WeakMap<CatalogModel, ModelView | null>();

export function viewOf(model: CatalogModel): ModelView | null {
  const known = views.get(model);
  if (known !== undefined) return known;
  const yields = model.state === "live" ? yieldsOf(model) : null;
  const view = yields === null ? null : { model, id: model.id, yields, fields: fieldsOf(model.inputSchema) };
  views.set(model, view);
  return view;
}

function fieldsOf(schema: JsonSchema): ReadonlyMap<string, FieldView> {
  const location = schemaLocation(schema);
  // A field that only a condition requires is not required in every input.
  return fieldViews(schema, applicable(schema, schema), [schema], (name) => takesOf(location.property(name)));
}

function fieldViews(
  root: JsonSchema,
  parts: readonly JsonSchema[],
  requiring: readonly JsonSchema[],
  takesOf: (name: string) => AcceptedMedia,
): ReadonlyMap<string, FieldView> {
  const names = new Set(parts.flatMap(({ properties }) => (isSchema(properties) ? Object.keys(properties) : [])));
  const required = new Set(requiring.flatMap((part) => (Array.isArray(part.required) ? part.required : [])));
  return new Map(
    [...names].map((name) => {
      const own = propertySchemas(parts, name).flatMap((one) => applicable(root, one));
      return [name, fieldView(root, name, own, { takes: takesOf(name), isRequired: required.has(name) })];
    }),
  );
}

function takesOf(location: SchemaLocation | null): AcceptedMedia {
  const own: AcceptedMedia = location?.takes ?? { what: "json", types: [] };
  const items = own.what === "json" ? location?.item(0)?.takes : undefined;
  return items?.what === "media" ? items : own;
}

function fieldView(
  root: JsonSchema,
  name: string,
  own: readonly JsonSchema[],
  { takes, isRequired }: Pick<FieldView, "takes" | "isRequired">,
): FieldView {
  // The first subschema with a keyword is the field's own; later ones come from conditions.
  const first = (keyword: string): unknown => own.find((part) => part[keyword] !== undefined)?.[keyword];
  const count = (keyword: string, fallback: number) => {
    const value = first(keyword);
    return typeof value === "number" ? value : fallback;
  };
  const constant = first("const");
  const values = constant === undefined ? first("enum") : [constant];
  const types = [first("type")].flat().filter((type) => typeof type === "string");
  const items = itemSchemas(own, 0).flatMap((one) => applicable(root, one));
  return {
    name,
    takes,
    isRequired,
    isList: types.includes("array") || first("items") !== undefined,
    maxItems: count("maxItems", Number.POSITIVE_INFINITY),
    values: Array.isArray(values) ? (values as readonly Json[]) : null,
    types,
    min: count("minimum", Number.NEGATIVE_INFINITY),
    max: count("maximum", Number.POSITIVE_INFINITY),
    step: count("multipleOf", 0) || null,
    maxLength: count("maxLength", Number.POSITIVE_INFINITY),
    pattern: linearPattern(first("pattern")),
    preset: first("default") as Json | undefined,
    role: [...own, ...items].map(({ role }) => role).find((role) => typeof role === "string") ?? null,
    item: takes.what === "json" ? fieldViews(root, items, items, () => ({ what: "json", types: [] })) : new Map(),
    maxTotalMs: count("max_total_duration_ms", Number.POSITIVE_INFINITY),
  };
}

function linearPattern(text: unknown): Matcher | null {
  try {
    const { matcher, isLinear } = readPattern(String(text));
    return typeof text === "string" && isLinear ? matcher : null;
  } catch {
    return null;
  }
}

interface SlotFacts {
  readonly names: readonly string[];
  readonly takes: MediaKind | "voice" | "json" | "choice";
  /** The field's role in the schema, which identifies the field if its name is not in `names`. */
  readonly role?: string;
}

const SLOTS = {
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
  target: { names: ["target_resolution", "resolution"], takes: "choice" },
  name: { names: ["name"], takes: "json" },
} as const satisfies Readonly<Record<string, SlotFacts>>;

/** The purpose of a field, such as the first frame. Models have different names for the same purpose. */
export type Slot = keyof typeof SLOTS;

export function slotField({ fields }: ModelView, slot: Slot): FieldView | null {
  const { names, takes, role }: SlotFacts = SLOTS[slot];
  const fits = (field: FieldView | undefined): field is FieldView => field !== undefined && holds(field, takes);
  const named = names.map((name) => fields.get(name)).find(fits);
  if (named !== undefined) return named;
  if (role === undefined) return null;
  return [...fields.values()].find((field) => field.role === role && fits(field)) ?? null;
}

function holds(field: FieldView, requested: SlotFacts["takes"]): boolean {
  const { takes } = field;
  // Preset voices appear in the schema as a plain enumeration.
  if (requested === "voice") return takes.what === "voice" || (takes.what === "json" && field.values !== null);
  if (requested === "choice") return takes.what === "json" && field.values !== null;
  if (takes.what !== "media") return requested === "json" && takes.what === "json" && field.values === null;
  return requested !== "json" && (takes.kinds.length === 0 || takes.kinds.includes(requested));
}
