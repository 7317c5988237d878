import { isRecord, resolveReference } from "../../json.ts";

/** Limits on the text searched and on the number of positions tried. */
const MAX_SEARCHED = 200_000;
const MAX_STARTS = 50;

/** The end of the JSON value that starts here, by its brackets; -1 when they do not close. */
function endOf(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const mark = text[at];
    if (quoted) {
      if (mark === "\\") at += 1;
      else if (mark === '"') quoted = false;
    } else if (mark === '"') quoted = true;
    else if (mark === "{" || mark === "[") depth += 1;
    else if (mark === "}" || mark === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Found {
  readonly start: number;
  readonly end: number;
  readonly value: SchemaNode;
}

/** JSON objects embedded in a text, in order. */
export function objectsIn(whole: string): readonly Found[] {
  const text = whole.slice(0, MAX_SEARCHED);
  const found: Found[] = [];
  let from = 0;
  for (let starts = 0; starts < MAX_STARTS; starts++) {
    const start = text.indexOf("{", from);
    if (start < 0) break;
    const end = endOf(text, start);
    const value = end < 0 ? null : parsed(text.slice(start, end));
    if (isRecord(value)) found.push({ start, end, value });
    from = isRecord(value) ? end : start + 1;
  }
  return found;
}

/** The text outside the JSON. */
export function withoutJson(text: string): string {
  let from = 0;
  const outside = objectsIn(text).map(({ start, end }) => {
    const before = text.slice(from, start);
    from = end;
    return before;
  });
  return [...outside, text.slice(from)].join(" ");
}

const LONGEST_CHAIN = 40;

/** The schema exceeds the supported complexity. */
export class SchemaTooLarge extends Error {
  override readonly name = "SchemaTooLarge";
}

/** One of several schemas, the `branch`-th of those that are not just null. */
function chosen(options: readonly unknown[], branch: number): SchemaNode {
  const real = options.filter((option) => isRecord(option) && option["type"] !== "null");
  return recordOf(real[branch % Math.max(1, real.length)] ?? options[0]);
}

/** Resolves references, combinations and conditions into one plain schema; `branch` selects the alternative at each. */
export function flattener(root: SchemaNode, branch: number): (node: SchemaNode) => SchemaNode {
  function flat(node: SchemaNode, chain: number): SchemaNode {
    if (chain > LONGEST_CHAIN) throw new SchemaTooLarge("The schema refers to itself without end.");
    const reference = textOf(node["$ref"]);
    if (reference !== null) {
      const { $ref: _reference, ...rest } = node;
      return flat(merged(recordOf(resolveReference(root, reference)), rest), chain + 1);
    }
    const { allOf, anyOf, oneOf, if: condition, then: consequence, else: otherwise, ...rest } = node;
    let result: SchemaNode = rest;
    for (const part of listOf(allOf)) result = merged(result, flat(recordOf(part), chain + 1));
    if (anyOf !== undefined) result = flat(merged(result, chosen(listOf(anyOf), branch)), chain + 1);
    if (oneOf !== undefined) result = flat(merged(result, chosen(listOf(oneOf), branch)), chain + 1);
    if (condition === undefined) return result;
    const way = branch % 2 === 0 ? merged(recordOf(condition), recordOf(consequence)) : recordOf(otherwise);
    return flat(merged(result, way), chain + 1);
  }

  return (node) => flat(node, 0);
}

/** A JSON Schema, or part of one, unvalidated. */
export type SchemaNode = Readonly<Record<string, unknown>>;

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

/** The type to generate: the first allowed one but null, or the one that the keywords imply. */
export function typeOf(schema: SchemaNode): JsonType {
  const named = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  const [type] = [...named.filter((one) => one !== "null"), ...named];
  if (typeof type === "string") return type as JsonType;
  return SIGNS.find(([, keywords]) => keywords.some((keyword) => keyword in schema))?.[0] ?? "string";
}

/** Merges two schemas: properties and requirements are combined, the second overrides the rest. */
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
