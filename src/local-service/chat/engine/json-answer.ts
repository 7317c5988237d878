import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import { isRecord } from "../../json.ts";
import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { Chance, Prose, Topic } from "./prose.ts";
import { type SchemaNode, SchemaTooLarge } from "./schema-node.ts";
import { valueOfSchema } from "./value-of-schema.ts";

/** Keywords that identify the document or dialect; local references do not need them. */
const LEFT_OUT = new Set(["$schema", "$id", "id"]);

/** Upgrades older dialects: lists under `items` become `prefixItems`. */
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

/** Normalizes an untrusted schema to the dialect used here. */
export function prepareSchema(schema: SchemaNode): SchemaNode {
  const entries = Object.entries(schema).filter(([key, value]) => !(LEFT_OUT.has(key) && typeof value === "string"));
  return modern(Object.fromEntries(entries)) as SchemaNode;
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 6 });
  formatsPlugin.default(ajv);
  return ajv;
}

/** The idle validator; null while it is in use, and after a timed-out use, which leaves it in an unknown state. */
let idle: Ajv2020 | null = null;

/**
 * Creates a validator and compiles everything but the caller's schema, so that none of it counts against a time limit.
 */
export function readyChecks(): void {
  if (idle !== null) return;
  const fresh = createAjv();
  fresh.compile({});
  idle = fresh;
}

/**
 * Calls `use` with a predicate that validates against the schema. A time limit stops work without running any
 * `finally`, so the validator is removed while in use: one that was interrupted is never reused.
 * @throws Error when the schema is invalid
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

/** Limit for one answer, in milliseconds. */
const MAX_MS = 400;
/** Each attempt takes other branches of combinations, with all properties or only the required ones. */
const ATTEMPTS = 12;

export type JsonAnswer =
  | { readonly is: "value"; readonly value: unknown }
  /** The schema is invalid, or no matching value was found. */
  | { readonly is: "impossible"; readonly reason: string };

interface Ports {
  readonly topic: Topic;
  readonly prose: Prose;
  readonly chance: Chance;
}

function attempt(schema: SchemaNode, ports: Ports): JsonAnswer {
  return withSchemaCheck(schema, (fits) => {
    for (let number = 0; number < ATTEMPTS; number++) {
      const value = valueOfSchema(schema, { ...ports, attempt: number });
      if (fits(value)) return { is: "value", value };
    }
    return { is: "impossible", reason: "no value that fits it was found" };
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof TookTooLong) return `answering it ${error.message}`;
  if (error instanceof SchemaTooLarge) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return `it is not a JSON Schema that can be used: ${reason.slice(0, 300)}`;
}

/** Generates a value and validates it against the schema. */
export function jsonAnswer(schema: SchemaNode, ports: Ports): JsonAnswer {
  try {
    return withinTime(MAX_MS, () => attempt(prepareSchema(schema), ports), readyChecks);
  } catch (error) {
    return { is: "impossible", reason: reasonOf(error) };
  }
}
