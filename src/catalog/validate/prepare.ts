import type { JsonSchema } from "../../plan/index.ts";
import { isSchema, localRef } from "../../plan/schema/schema.ts";

const NAMED = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SINGLE = new Set([
  "items",
  "additionalItems",
  "additionalProperties",
  "unevaluatedItems",
  "unevaluatedProperties",
  "propertyNames",
  "contains",
  "not",
  "if",
  "then",
  "else",
]);
/** Dialect and ids would send the validator looking for documents that it does not have. */
const DROPPED = new Set(["$schema", "$id", "$anchor", "$comment"]);

/**
 * A hundred times what models have; a second's work for the compiler. A larger schema is refused. Of one that would become
 * larger by unfolding, references stay as they are.
 */
const MAX_NODES = 5_000;

/**
 * A schema ready to be compiled and explained. References within the document are unfolded, so that the path of an error
 * says where in the whole schema it arose; recursive ones stay. `discriminator.mapping` is OpenAPI's and goes.
 * Throws for a schema that is too large to be compiled.
 */
export function prepareSchema(root: JsonSchema): JsonSchema {
  if (countParts(root, MAX_NODES) > MAX_NODES) throw new Error(`it has more than ${MAX_NODES} parts`);
  const unfolding = new Unfolding(root, MAX_NODES);
  const unfolded = unfolding.schema(root, [root]);
  const schema = unfolding.isTooLarge ? new Unfolding(root, 0).schema(root, []) : unfolded;
  // Without an id the validator does not find what "#" refers to.
  return { $id: "showrunner:input", ...schema };
}

/** How many objects a JSON value holds, itself included; where they are more than `most`, any number above it. */
function countParts(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null) return 0;
  let found = Array.isArray(value) ? 0 : 1;
  for (const inner of Object.values(value)) {
    if (found > most) return found;
    found += countParts(inner, most - found);
  }
  return found;
}

class Unfolding {
  isTooLarge = false;
  readonly #root: JsonSchema;
  readonly #maxNodes: number;
  #nodes = 0;

  constructor(root: JsonSchema, maxNodes: number) {
    this.#root = root;
    this.#maxNodes = maxNodes;
  }

  schema(schema: JsonSchema, within: readonly JsonSchema[]): JsonSchema {
    this.#nodes += 1;
    if (this.#maxNodes > 0 && this.#nodes > this.#maxNodes) this.isTooLarge = true;
    if (this.isTooLarge) return schema;
    const target = this.#maxNodes === 0 ? null : localRef(this.#root, schema.$ref);
    if (target === null || within.includes(target)) return this.#members(schema, within);
    const { $ref: _, ...beside } = schema;
    const unfolded = this.schema(target, [...within, target]);
    const own = this.#members(beside, within);
    const clash = Object.keys(own).some((key) => key in unfolded && typeof own[key] !== "string");
    return clash ? { allOf: [unfolded, own] } : { ...unfolded, ...own };
  }

  #members(schema: JsonSchema, within: readonly JsonSchema[]): JsonSchema {
    const entries: [string, unknown][] = [];
    for (const [key, value] of Object.entries(schema)) {
      if (!DROPPED.has(key)) entries.push([key, this.#member(key, value, within)]);
    }
    return Object.fromEntries(entries);
  }

  #member(key: string, value: unknown, within: readonly JsonSchema[]): unknown {
    const one = (item: unknown) => (isSchema(item) ? this.schema(item, within) : item);
    if (key === "discriminator" && isSchema(value)) return { propertyName: value.propertyName };
    if (NAMED.has(key) && isSchema(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, one(item)]));
    }
    if (Array.isArray(value)) return LISTS.has(key) || key === "items" ? value.map(one) : value;
    return SINGLE.has(key) ? one(value) : value;
  }
}
