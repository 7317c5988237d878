import type { JsonSchema } from "../catalog-port.ts";

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
/** A schema may refer to itself, so the number of parts is limited. */
const MAX_PARTS = 200;

/** Returns a schema and all sub-schemas that may apply to the same value. */
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
