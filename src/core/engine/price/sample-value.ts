import { own } from "../../kit/own.ts";
import type { Json } from "../../plan/plan.ts";

/** About as long as what a model says for a prompt or a line to speak. */
const TEXT =
  "A quiet harbour at dawn: fishing boats rock on the water, gulls circle above the masts, and a long golden light falls over wet stones.";
const MAX_DEPTH = 20;
const ENDLESS = 5;

type Schema = { readonly [keyword: string]: Json };

/** A value as a JSON Schema asks for it, good enough to ask a price with; text where the schema says nothing. */
export function sampleValue(schema: Json, at: readonly (string | number)[] = []): Json {
  return sample(
    at.reduce((found, key) => within(found, key, schema), schema),
    schema,
    0,
  );
}

/** Text of that length. */
export function textOf(length: number): string {
  return TEXT.repeat(Math.ceil(length / TEXT.length)).slice(0, length);
}

/** How long a text, or how great a number, may be there at most; null where the schema does not say. */
export function boundAt(schema: Json, at: readonly (string | number)[], keyword: "maxLength" | "maximum") {
  const root = schema;
  const found = resolved(
    at.reduce((part, key) => within(part, key, root), schema),
    root,
  );
  const bound = isSchema(found) ? found[keyword] : undefined;
  return typeof bound === "number" ? bound : null;
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
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== "null") : schema.type;
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
      return sampleText(schema);
  }
}

function sampleNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Schema): number {
  const [least, above, most, below] = [minimum, exclusiveMinimum, maximum, exclusiveMaximum].map((bound, index) =>
    // Whole numbers are bounded by what a double can hold, which says nothing.
    typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : index < 2 ? -Infinity : Infinity,
  ) as [number, number, number, number];
  const step = typeof multipleOf === "number" ? multipleOf : 1;
  const low = Math.max(least, above);
  const high = Math.min(most, below);
  if (low === -Infinity) return Math.min(step, most, below - step);
  const next = Math.ceil(low / step) * step;
  const found = next > above ? next : next + step;
  // Too narrow for a step: somewhere between.
  return found <= most && found < below ? found : Math.max(least, (low + high) / 2);
}

const FORMATS: { readonly [format: string]: string } = {
  uri: "https://example.com/picture",
  email: "someone@example.com",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  date: "2030-01-01",
  "date-time": "2030-01-01T12:00:00Z",
  time: "12:00:00Z",
};

function sampleText({ format, minLength, maxLength }: Schema): string {
  const known = typeof format === "string" ? own(FORMATS, format) : undefined;
  if (known !== undefined) return known;
  const least = typeof minLength === "number" ? Math.min(minLength, 100_000) : 0;
  const most = typeof maxLength === "number" ? maxLength : Math.max(TEXT.length, least);
  return TEXT.repeat(Math.max(1, Math.ceil(least / TEXT.length))).slice(0, most);
}

function sampleObject(schema: Schema, root: Json, depth: number): Json {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => [key, sample(property, root, depth + 1)]),
  );
}

function sampleList(schema: Schema, root: Json, depth: number): Json {
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  const most = typeof schema.maxItems === "number" ? schema.maxItems : 100;
  // A shape within itself ends somewhere.
  const count = Math.min(most, 100, Math.max(least, depth > ENDLESS ? 0 : 1));
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
