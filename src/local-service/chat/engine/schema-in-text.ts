import { objectsIn } from "./json-in-text.ts";
import { isRecord, type SchemaNode } from "./schema-node.ts";

function isSchema(node: SchemaNode): boolean {
  const named = typeof node["$schema"] === "string" || isRecord(node["$defs"]);
  return (
    named ||
    (node["type"] === "object" && isRecord(node["properties"])) ||
    (node["type"] === "array" && "items" in node)
  );
}

/** A schema whose values look like the example's. */
function schemaOfExample(example: unknown): SchemaNode {
  if (Array.isArray(example)) {
    const items = example.length > 0 ? schemaOfExample(example[0]) : {};
    return { type: "array", items, minItems: 1 };
  }
  if (isRecord(example)) {
    const names = Object.keys(example);
    const properties = Object.fromEntries(names.map((name) => [name, schemaOfExample(example[name])]));
    return { type: "object", properties, required: names, additionalProperties: false };
  }
  if (typeof example === "number") return { type: Number.isInteger(example) ? "integer" : "number" };
  return { type: example === null ? "string" : typeof example };
}

/** The shape that a prompt asks for: a schema written in it, or else an example of the answer; null for neither. */
export function schemaInText(text: string): SchemaNode | null {
  const found = objectsIn(text).map(({ value }) => value);
  const schema = found.find(isSchema);
  if (schema) return schema;
  const example = found.findLast((node) => Object.keys(node).length > 0);
  return example && /json/i.test(text) ? schemaOfExample(example) : null;
}
