import type { JsonSchema } from "../catalog/model.ts";

/** The parts of a field's schema that family rules use. */
export interface SchemaField {
  /** Its default; undefined for none. */
  readonly preset: unknown;
  /** Accepted values; null where they are not enumerated. */
  readonly accepted: readonly unknown[] | null;
  /** The fields of a list's items. */
  readonly item: ReadonlyMap<string, SchemaField>;
}

/** Limits for recursive and very large schemas: the depth of lists, and the number of subschemas. */
const MAX_DEPTH = 2;
const MAX_PARTS = 200;

/** The fields that a schema names anywhere: directly, by reference, and in branches of choices and conditions. */
export function schemaFields(root: JsonSchema): ReadonlyMap<string, SchemaField> {
  return fieldsOf(root, [root], MAX_DEPTH);
}

function fieldsOf(root: JsonSchema, schemas: readonly unknown[], depth: number): ReadonlyMap<string, SchemaField> {
  const found = new Map<string, JsonSchema[]>();
  if (depth === 0) return new Map();
  for (const part of partsOf(root, schemas)) {
    const { properties } = part;
    for (const [name, own] of isRecord(properties) ? Object.entries(properties) : []) {
      if (isRecord(own)) found.set(name, [...(found.get(name) ?? []), ...partsOf(root, [own])]);
    }
  }
  return new Map([...found].map(([name, parts]) => [name, fieldOf(root, parts, depth)]));
}

function fieldOf(root: JsonSchema, parts: readonly JsonSchema[], depth: number): SchemaField {
  const closed = parts.filter((part) => Array.isArray(part["enum"]) || "const" in part);
  const items = parts.flatMap(({ prefixItems, items: rest }) => [
    (Array.isArray(prefixItems) ? prefixItems[0] : undefined) ?? rest,
  ]);
  return {
    preset: parts.map((part) => part["default"]).find((value) => value !== undefined && value !== null),
    accepted: closed.length === 0 ? null : closed.flatMap((part) => part["enum"] ?? [part["const"]]),
    item: fieldsOf(root, items, depth - 1),
  };
}

/** Schemas and all subschemas that may apply to the same value. */
function partsOf(root: JsonSchema, schemas: readonly unknown[]): readonly JsonSchema[] {
  const found = new Set<JsonSchema>();
  const left: unknown[] = [...schemas].reverse();
  while (left.length > 0 && found.size < MAX_PARTS) {
    const part = left.pop();
    if (!isRecord(part) || found.has(part)) continue;
    found.add(part);
    const { allOf, anyOf, oneOf, then: met, else: unmet, $ref: ref } = part;
    left.push(...[referred(root, ref), allOf, anyOf, oneOf, met, unmet].flat().reverse());
  }
  return [...found];
}

/** The target of a reference within the document. */
function referred(root: JsonSchema, ref: unknown): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  const names = ref.slice(1).split("/").slice(1);
  return names.reduce<unknown>((at, name) => {
    const key = unescaped(name);
    return typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as JsonSchema)[key] : undefined;
  }, root);
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
