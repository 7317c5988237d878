import { own } from "../../kit/own.ts";
import type { JsonSchema } from "../catalog-port.ts";
import type { Json, MediaKind } from "../plan.ts";
import { applicable, branches, isSchema, itemSchemas, localRef, propertySchemas, suggestedValues } from "./schema.ts";

/** A model's published limits for a media field, such as `min_duration_ms`. The strictest limit applies. */
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
  /** Returns valid values: all of them if the set is closed, otherwise examples. */
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
    if (typeof value !== "number" || !/^(min|max)(_|Items$)/.test(name)) continue;
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
