import { own } from "../kit/lookup.ts";
import type { CatalogModel, JsonSchema } from "./catalog-port.ts";
import type { DraftJson, Json, MediaKind } from "./step.ts";

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function branches(schema: JsonSchema, keyword: string): readonly JsonSchema[] {
  const list = schema[keyword];
  return Array.isArray(list) ? list.filter(isSchema) : [];
}

export function localRef(root: JsonSchema, ref: unknown): JsonSchema | null {
  if (typeof ref !== "string" || !ref.startsWith("#")) return null;
  let at: unknown = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return null;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return isSchema(at) ? at : null;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function suggestedValues(schema: JsonSchema): readonly string[] | null {
  const choices = branches(schema, "anyOf");
  const isOpen = choices.some(
    ({ type, ...rest }) => type === "string" && rest.enum === undefined && rest.const === undefined,
  );
  const values = choices.flatMap((choice) => (Array.isArray(choice.enum) ? choice.enum : []));
  return isOpen && values.length > 0 && values.every((value) => typeof value === "string") ? values : null;
}

const COMBINATORS = ["allOf", "anyOf", "oneOf"];
const CONDITIONALS = ["then", "else"];
/** The maximum number of subschemas to visit. It limits the work for a very large schema. */
const MAX_PARTS = 200;

export function applicable(root: JsonSchema, schema: JsonSchema): readonly JsonSchema[] {
  const found = new Set<JsonSchema>();
  const visit = (part: JsonSchema) => {
    if (found.has(part) || found.size >= MAX_PARTS) return;
    found.add(part);
    const target = localRef(root, part.$ref);
    if (target !== null) visit(target);
    for (const keyword of COMBINATORS) for (const branch of branches(part, keyword)) visit(branch);
    for (const keyword of CONDITIONALS) {
      const branch = part[keyword];
      if (isSchema(branch)) visit(branch);
    }
  };
  visit(schema);
  return [...found];
}

export function propertySchemas(parts: readonly JsonSchema[], name: string): readonly JsonSchema[] {
  return parts.flatMap((part) => {
    const property =
      isSchema(part.properties) && Object.hasOwn(part.properties, name) ? part.properties[name] : undefined;
    if (isSchema(property)) return [property];
    return isSchema(part.additionalProperties) ? [part.additionalProperties] : [];
  });
}

export function itemSchemas(parts: readonly JsonSchema[], index: number): readonly JsonSchema[] {
  return parts.flatMap((part) => {
    const positional = branches(part, "prefixItems")[index];
    if (positional !== undefined) return [positional];
    return isSchema(part.items) ? [part.items] : [];
  });
}

/** Limits on the media that a field accepts, keyed by name, such as `min_duration_ms`. */
export type MediaBounds = { readonly [annotation: string]: number };

export type AcceptedMedia =
  | {
      readonly what: "media";
      readonly kinds: readonly MediaKind[];
      readonly maxBytes: number | null;
      readonly bounds: MediaBounds;
    }
  | { readonly what: "voice" }
  | { readonly what: "json"; readonly types: readonly string[] };

export interface SchemaLocation {
  readonly takes: AcceptedMedia;
  property(name: string): SchemaLocation | null;
  item(index: number): SchemaLocation | null;
  /** Returns all valid values if there is a fixed set of them, otherwise examples. */
  examples(): readonly Json[];
  most(keyword: "maxLength" | "maximum" | "maxItems"): number | null;
}

const roots = new WeakMap<JsonSchema, SchemaLocation>();

export function schemaLocation(schema: JsonSchema): SchemaLocation {
  const known = roots.get(schema);
  if (known !== undefined) return known;
  const location = makeLocation({ root: schema, parts: applicable(schema, schema), name: "input", inherited: null });
  roots.set(schema, location);
  return location;
}

interface Seed {
  readonly root: JsonSchema;
  readonly parts: readonly JsonSchema[];
  readonly name: string;
  readonly inherited: AcceptedMedia | null;
}

function makeLocation(seed: Seed): SchemaLocation {
  const children = new Map<string, SchemaLocation | null>();
  const takes = takesOf(seed);
  const child = (key: string, schemas: readonly JsonSchema[], name: string, inherited: AcceptedMedia | null) => {
    const known = children.get(key);
    if (known !== undefined) return known;
    const parts = [...new Set(schemas.flatMap((schema) => applicable(seed.root, schema)))];
    const location = parts.length === 0 ? null : makeLocation({ root: seed.root, parts, name, inherited });
    children.set(key, location);
    return location;
  };
  let examples: readonly Json[] | null = null;
  return {
    takes,
    examples: () => {
      examples ??= examplesOf(seed.parts);
      return examples;
    },
    most: (keyword) => {
      const found = seed.parts.flatMap(({ [keyword]: value }) => (typeof value === "number" ? [value] : []));
      return found.length === 0 ? null : Math.min(...found);
    },
    property: (name) => child(`.${name}`, propertySchemas(seed.parts, name), name, null),
    item: (index) =>
      child(
        `[${Math.min(index, 64)}]`,
        itemSchemas(seed.parts, index),
        seed.name.replace(/s$/, ""),
        takes.what === "media" ? takes : null,
      ),
  };
}

function takesOf({ root, parts, name, inherited }: Seed): AcceptedMedia {
  const annotated = parts.flatMap((part) => (part.media_type === undefined ? [] : mediaKinds(part.media_type)));
  const isMedia =
    annotated.length > 0 || parts.some((part) => part.media_type !== undefined || isMediaReference(root, part));
  if (isMedia) {
    const sizes = parts.flatMap((part) =>
      typeof part.max_file_size_bytes === "number" ? [part.max_file_size_bytes] : [],
    );
    const kinds = annotated.length > 0 ? annotated : inherited?.what === "media" ? inherited.kinds : [];
    const maxBytes = sizes.length === 0 ? null : Math.min(...sizes);
    return { what: "media", kinds: [...new Set(kinds)], maxBytes, bounds: boundsOf(parts, inherited) };
  }
  if (inherited !== null) return inherited;
  if (isVoice(name, parts)) return { what: "voice" };
  return { what: "json", types: typesOf(parts) };
}

function boundsOf(parts: readonly JsonSchema[], inherited: AcceptedMedia | null): MediaBounds {
  const found: { [annotation: string]: number } = inherited?.what === "media" ? { ...inherited.bounds } : {};
  for (const [name, value] of parts.flatMap((part) => Object.entries(part))) {
    if (typeof value !== "number" || !/^(?:min|max)(?:_|Items)/.test(name)) continue;
    const known = found[name] ?? value;
    found[name] = name.startsWith("min") ? Math.max(known, value) : Math.min(known, value);
  }
  return found;
}

function mediaKinds(annotation: unknown): readonly MediaKind[] {
  const given = Array.isArray(annotation) ? annotation : [annotation];
  return (["image", "video", "audio"] as const).filter((kind) => given.includes(kind));
}

export function isMediaReference(root: JsonSchema, schema: JsonSchema): boolean {
  const forms = [...branches(schema, "oneOf"), ...branches(schema, "anyOf")].map(
    (form) => localRef(root, form.$ref) ?? form,
  );
  return hasProperties(forms, "source", "url") && hasProperties(forms, "source", "asset_id");
}

function hasProperties(forms: readonly JsonSchema[], ...names: readonly string[]): boolean {
  return forms.some(({ properties }) => isSchema(properties) && names.every((name) => Object.hasOwn(properties, name)));
}

function isVoice(name: string, parts: readonly JsonSchema[]): boolean {
  const types = typesOf(parts);
  if (types.length > 0 && !types.includes("string")) return false;
  const isClosed = parts.some((part) => part.enum !== undefined || part.const !== undefined);
  if (isClosed && parts.every((part) => suggestedValues(part) === null)) return false;
  const isMarked = ({ format, pattern }: JsonSchema) =>
    format === "voice_id" || (typeof pattern === "string" && pattern.includes("voice_"));
  return /^(?:.*_)?voice(?:_id)?$/.test(name) || parts.some(isMarked);
}

function examplesOf(parts: readonly JsonSchema[]): readonly Json[] {
  const listed = parts.flatMap(({ enum: values, const: constant }) => {
    return [...(Array.isArray(values) ? values : []), ...(constant === undefined ? [] : [constant])] as Json[];
  });
  if (listed.length > 0) return [...new Set(listed)];
  const [type = "string"] = typesOf(parts);
  const minimum = parts.find((part) => typeof part.minimum === "number")?.minimum as number | undefined;
  const byType: Readonly<Record<string, readonly Json[]>> = {
    boolean: [true, false],
    integer: [minimum ?? 1],
    number: [minimum ?? 1],
    array: [[]],
    object: [{}],
    null: [null],
  };
  return own(byType, type) ?? ["x"];
}

function typesOf(parts: readonly JsonSchema[]): readonly string[] {
  const types = parts
    .flatMap(({ type }) => (Array.isArray(type) ? type : [type]))
    .filter((type) => typeof type === "string");
  return [...new Set(types)];
}

export function yieldsOf(model: CatalogModel): MediaKind | "voice" | null {
  switch (model.modality) {
    case "image":
    case "video":
      return model.modality;
    case "audio":
      return makesVoice(model) ? "voice" : "audio";
    default:
      return null;
  }
}

/**
 * Returns whether the model clones voices. The catalog lists voice-cloning models as audio, so this checks the model's
 * schemas and name.
 */
function makesVoice({ outputSchema, inputSchema, id, name }: CatalogModel): boolean {
  const voiceId = fieldTypesOf(outputSchema, "voice_id");
  const url = fieldTypesOf(outputSchema, "url");
  if (voiceId.length > 0 && !voiceId.includes("null")) return true;
  if (url.length > 0 && url.every((type) => type === "null")) return true;
  if (voiceId.length > 0 && voiceId.every((type) => type === "null")) return false;
  const fields = isSchema(inputSchema.properties) ? inputSchema.properties : {};
  if ("voice_id" in fields || "text" in fields || "prompt" in fields) return false;
  return ("audio" in fields && "name" in fields) || /voice.?clon|clon\w*.?voice/i.test(`${id} ${name ?? ""}`);
}

function fieldTypesOf(schema: JsonSchema, name: string): readonly unknown[] {
  const parts = propertySchemas(applicable(schema, schema), name).flatMap((part) => applicable(schema, part));
  return parts.flatMap(({ type, const: constant }) => {
    if (constant === null) return ["null"];
    return type === undefined ? [] : Array.isArray(type) ? type : [type];
  });
}

export function outputsOf(input: DraftJson, model: CatalogModel): number {
  const requested =
    typeof input === "object" && input !== null && "num_outputs" in input ? input.num_outputs : undefined;
  if (isCount(requested)) return requested;
  const presets = countSchemas(model).map((schema) => schema.default);
  return presets.find(isCount) ?? 1;
}

export function maxOutputsOf(model: CatalogModel): number | null {
  const schemas = countSchemas(model);
  if (schemas.length === 0) return 1;
  const bounds = schemas.flatMap(({ enum: values, const: constant, maximum }) => {
    const listed = [constant, ...(Array.isArray(values) ? values : [])].filter(isCount);
    return [...(listed.length > 0 ? [Math.max(...listed)] : []), ...(isCount(maximum) ? [maximum] : [])];
  });
  return bounds.length === 0 ? null : Math.min(...bounds);
}

export function mostSeed({ inputSchema }: CatalogModel): number | null {
  const schemas = propertySchemas(applicable(inputSchema, inputSchema), "seed");
  if (schemas.length === 0) return null;
  const bounds = schemas.flatMap(({ maximum }) => (isCount(maximum) ? [maximum] : []));
  return Math.min(Number.MAX_SAFE_INTEGER - 1, ...bounds);
}

function countSchemas({ inputSchema }: CatalogModel): readonly JsonSchema[] {
  return propertySchemas([inputSchema], "num_outputs").flatMap((schema) => applicable(inputSchema, schema));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
