import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { isRecord, type SchemaNode } from "./schema-node.ts";

/** Words that name the document or the dialect; local references do without. */
const LEFT_OUT = new Set(["$schema", "$id", "id"]);

/** Older dialects in today's words: lists under `items` became `prefixItems`. */
function modern(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(modern);
  if (!isRecord(node)) return node;
  const { items, additionalItems, ...rest } = node;
  const entries = Object.entries(rest).map(([key, value]) => [key, modern(value)] as const);
  if (Array.isArray(items)) {
    entries.push(["prefixItems", modern(items)]);
    if (additionalItems !== undefined) entries.push(["items", modern(additionalItems)]);
  } else if (items !== undefined) entries.push(["items", modern(items)]);
  return Object.fromEntries(entries);
}

/** A schema that may come from anywhere, in the dialect that is worked with here. */
export function prepareSchema(schema: SchemaNode): SchemaNode {
  const entries = Object.entries(schema).filter(([key, value]) => !(LEFT_OUT.has(key) && typeof value === "string"));
  return modern(Object.fromEntries(entries)) as SchemaNode;
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 6 });
  formatsPlugin.default(ajv);
  return ajv;
}

let ajv = createAjv();

/** After work was stopped halfway, nothing is known of the validator's state: it is made anew. */
export function renewChecks(): void {
  ajv = createAjv();
}

/** Calls with a test of whether a value fits the schema. @throws Error when the schema is none */
export function withSchemaCheck<T>(schema: SchemaNode, use: (fits: (value: unknown) => boolean) => T): T {
  try {
    const validate = ajv.compile(schema);
    return use((value) => validate(value) === true);
  } finally {
    ajv.removeSchema(schema);
  }
}
