import type { JsonSchema } from "../catalog-port.ts";
import type { Json } from "../plan.ts";
import { applicable, isSchema, itemSchemas, propertySchemas } from "./schema.ts";

/** A place within values of a schema: what is known of it, or the name that no such value has. */
export interface FoundSchema {
  /** Schema of the place; null where nothing is known of it. */
  readonly schema: Json | null;
  /** Allowed JSON types; empty when all are. */
  readonly types: readonly string[];
  readonly missing: { readonly key: string | number; readonly allowed: readonly string[] } | null;
}

const NOTHING: FoundSchema = { schema: null, types: [], missing: null };

/** Follows keys and positions through a schema. */
export function schemaAt(schema: Json | null, at: readonly (string | number)[]): FoundSchema {
  const wrong = at.find(isNoPosition);
  if (wrong !== undefined) return { ...NOTHING, missing: { key: wrong, allowed: [] } };
  if (!isSchema(schema)) return NOTHING;
  const root: JsonSchema = schema;
  let parts = applicable(root, root);
  for (const key of at) {
    const next = typeof key === "number" ? itemSchemas(parts, key) : propertySchemas(parts, key);
    if (next.length === 0)
      return isClosed(parts, key) ? { ...NOTHING, missing: { key, allowed: names(parts) } } : NOTHING;
    parts = [...new Set(next.flatMap((one) => applicable(root, one)))];
  }
  // A place of a schema with definitions of its own keeps them: its parts may refer there.
  const [first] = parts;
  const definitions = isSchema(root.$defs) ? { $defs: root.$defs } : {};
  return { schema: { ...definitions, ...first } as unknown as Json, types: typesOf(parts), missing: null };
}

/** True when the parts say what there is, and the key is not among it. */
function isClosed(parts: readonly JsonSchema[], key: string | number): boolean {
  const types = typesOf(parts);
  if (types.length > 0 && !types.includes(typeof key === "number" ? "array" : "object")) return true;
  if (typeof key === "number")
    return parts.some(({ prefixItems, items }) => prefixItems !== undefined && items === false);
  const objects = parts.filter(({ properties }) => isSchema(properties));
  return objects.length > 0 && objects.every(({ additionalProperties }) => additionalProperties === false);
}

/** Lists are counted from 0, and only from their beginning. */
function isNoPosition(key: string | number): boolean {
  return typeof key === "number" && !(Number.isSafeInteger(key) && key >= 0);
}

function names(parts: readonly JsonSchema[]): readonly string[] {
  return [...new Set(parts.flatMap(({ properties }) => (isSchema(properties) ? Object.keys(properties) : [])))];
}

/** JSON types that the parts name; empty when any value is allowed. */
function typesOf(parts: readonly JsonSchema[]): readonly string[] {
  const named = parts.flatMap(({ type, enum: values, const: constant }) => {
    if (type !== undefined) return [type].flat();
    return [...(Array.isArray(values) ? values : []), ...(constant === undefined ? [] : [constant])].map(typeName);
  });
  return [...new Set(named.filter((type) => typeof type === "string"))];
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
