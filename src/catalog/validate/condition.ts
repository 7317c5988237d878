import type { JsonSchema } from "../../plan/index.ts";
import { branches, isSchema, localRef } from "../../plan/schema/schema.ts";

/** `when quality is "pro"`, for an error that arose in the `then` or `else` of a condition; null for other errors. */
export function conditionOf(schemaPath: string, root: JsonSchema): string | null {
  const at = Math.max(schemaPath.lastIndexOf("/then/"), schemaPath.lastIndexOf("/else/"));
  if (at < 0) return null;
  const condition = localRef(root, schemaPath.slice(0, at))?.if;
  const said = isSchema(condition) ? describe(condition) : null;
  if (said === null) return "with the other fields as they are";
  return schemaPath.startsWith("/else/", at) ? `unless ${said}` : `when ${said}`;
}

/** A condition in words; null when it says something that has no short form. */
function describe(schema: JsonSchema): string | null {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const parts: (string | null)[] = [
    ...Object.entries(properties).map(([name, value]) => (isSchema(value) ? describeValue(name, value) : null)),
    ...required.filter((name) => !Object.hasOwn(properties, name)).map((name) => `${name} is given`),
    ...branches(schema, "allOf").map(describe),
  ];
  if (isSchema(schema.not)) parts.push(describeNot(schema.not));
  for (const keyword of ["anyOf", "oneOf"]) {
    if (schema[keyword] !== undefined) parts.push(join(branches(schema, keyword).map(describe), " or "));
  }
  return join(parts, " and ");
}

function describeNot(schema: JsonSchema): string | null {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  if (required.length === 1 && Object.keys(schema).length === 1) return `${required[0]} is not given`;
  const said = describe(schema);
  return said === null ? null : `it is not so that ${said}`;
}

function describeValue(name: string, schema: JsonSchema): string | null {
  if (schema.const !== undefined) return `${name} is ${JSON.stringify(schema.const)}`;
  if (Array.isArray(schema.enum)) return `${name} is ${schema.enum.map((item) => JSON.stringify(item)).join(" or ")}`;
  if (isSchema(schema.not) && schema.not.const !== undefined)
    return `${name} is not ${JSON.stringify(schema.not.const)}`;
  return Object.keys(schema).length === 0 ? `${name} is given` : null;
}

function join(parts: readonly (string | null)[], by: string): string | null {
  const said = parts.filter((part) => part !== null);
  return said.length === 0 || said.length < parts.length ? null : said.join(by);
}
