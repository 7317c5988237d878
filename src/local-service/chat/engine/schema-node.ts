/** A JSON Schema, or a part of one, as it came: nothing about it is certain. */
export type SchemaNode = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);
export const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const recordOf = (value: unknown): SchemaNode => (isRecord(value) ? value : {});

export type JsonType = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

const SIGNS: readonly (readonly [JsonType, readonly string[]])[] = [
  ["object", ["properties", "required", "additionalProperties", "patternProperties", "minProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
];

/** The type to make: the first one allowed that is not null, or what the keywords are about. */
export function typeOf(schema: SchemaNode): JsonType {
  const named = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  const [type] = [...named.filter((one) => one !== "null"), ...named];
  if (typeof type === "string") return type as JsonType;
  return SIGNS.find(([, keywords]) => keywords.some((keyword) => keyword in schema))?.[0] ?? "string";
}

/** Follows a reference within the document; null when it leads nowhere in it. */
export function resolvePointer(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return null;
  const parts = decodeURIComponent(reference.slice(1)).split("/").slice(1);
  return parts.reduce<unknown>((node, part) => {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(node)) return node[Number(key)] ?? null;
    return isRecord(node) && Object.hasOwn(node, key) ? node[key] : null;
  }, root);
}

/** Both at once: properties and requirements add up, the second has the last word on the rest. */
export function merged(a: SchemaNode, b: SchemaNode): SchemaNode {
  const properties = { ...recordOf(a["properties"]) };
  for (const [name, node] of Object.entries(recordOf(b["properties"]))) {
    const known = properties[name];
    properties[name] = isRecord(known) && isRecord(node) ? merged(known, node) : node;
  }
  const required = [...listOf(a["required"]), ...listOf(b["required"])];
  return {
    ...a,
    ...b,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}
