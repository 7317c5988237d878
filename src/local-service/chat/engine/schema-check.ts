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

/** The validator while nobody uses it; null also after a use was stopped halfway, which leaves it in an unknown state. */
let idle: Ajv2020 | null = null;

/** Makes a validator with everything compiled that is no caller's, so that none of it counts against a time limit. */
export function readyChecks(): void {
  if (idle !== null) return;
  const fresh = createAjv();
  fresh.compile({});
  idle = fresh;
}

/**
 * Calls with a test of whether a value fits the schema. A time limit stops work without running any `finally`, so the
 * validator is taken away for the time of its use: a stopped one is never seen again.
 * @throws Error when the schema is none
 */
export function withSchemaCheck<T>(schema: SchemaNode, use: (fits: (value: unknown) => boolean) => T): T {
  const ajv = idle ?? createAjv();
  idle = null;
  try {
    const validate = ajv.compile(schema);
    return use((value) => validate(value) === true);
  } finally {
    ajv.removeSchema(schema);
    idle = ajv;
  }
}
