import type { Json } from "../plan/plan.ts";

/** About as long as what a model says for a prompt or a line to speak. */
const TEXT =
  "A quiet harbour at dawn: fishing boats rock on the water, gulls circle above the masts, and a long golden light falls over wet stones.";
const MAX_DEPTH = 20;

type Schema = { readonly [keyword: string]: Json };

/** A value as a JSON Schema asks for it, good enough to ask a price with; text where the schema says nothing. */
export function sampleValue(schema: Json, at: readonly (string | number)[] = []): Json {
  return sample(
    at.reduce((found, key) => within(found, key, schema), schema),
    schema,
    0,
  );
}

function within(schema: Json, key: string | number, root: Json): Json {
  const found = resolved(schema, root);
  if (!isSchema(found)) return true;
  const { properties, prefixItems, items, additionalProperties } = found;
  if (typeof key === "string")
    return (isSchema(properties) ? properties[key] : undefined) ?? additionalProperties ?? true;
  return (Array.isArray(prefixItems) ? prefixItems[key] : undefined) ?? items ?? true;
}

function sample(given: Json, root: Json, depth: number): Json {
  const schema = resolved(given, root);
  if (!isSchema(schema) || depth > MAX_DEPTH) return TEXT;
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]!;
  const choice = [schema.anyOf, schema.oneOf, schema.allOf].find(Array.isArray)?.[0];
  if (choice !== undefined && schema.type === undefined) return sample(choice, root, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  switch (type) {
    case "object":
      return sampleObject(schema, root, depth);
    case "array":
      return sampleList(schema, root, depth);
    case "integer":
    case "number":
      return sampleNumber(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return TEXT.slice(0, Number(schema.maxLength ?? TEXT.length));
  }
}

function sampleNumber({ minimum, exclusiveMinimum, maximum }: Schema): number {
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + 1;
  return typeof maximum === "number" ? Math.min(1, maximum) : 1;
}

function sampleObject(schema: Schema, root: Json, depth: number): Json {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  return Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, sample(one, root, depth + 1)]));
}

function sampleList(schema: Schema, root: Json, depth: number): Json {
  const count = Math.min(100, Math.max(1, Number(schema.minItems ?? 1)));
  return Array.from({ length: count }, (_, index) => sample(within(schema, index, root), root, depth + 1));
}

function resolved(schema: Json, root: Json): Json {
  let found = schema;
  for (let hops = 0; hops < MAX_DEPTH && isSchema(found) && typeof found.$ref === "string"; hops++) {
    const keys = found.$ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    found = keys.reduce<Json>((value, key) => (isSchema(value) ? (value[key] ?? true) : true), root);
  }
  return found;
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
