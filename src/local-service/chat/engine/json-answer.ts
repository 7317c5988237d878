import { TookTooLong, withinTime } from "../../validate/time-limit.ts";
import type { Chance } from "./chance.ts";
import { SchemaTooLarge } from "./flatten-schema.ts";
import type { Prose } from "./prose.ts";
import { prepareSchema, readyChecks, withSchemaCheck } from "./schema-check.ts";
import type { SchemaNode } from "./schema-node.ts";
import type { Topic } from "./topic.ts";
import { valueOfSchema } from "./value-of-schema.ts";

/** Longest that one answer may hold up the service, in milliseconds. */
const MAX_MS = 400;
/** Each attempt takes other ways through combinations, with all properties or only the required ones. */
const ATTEMPTS = 12;

export type JsonAnswer =
  | { readonly is: "made"; readonly value: unknown }
  /** The schema itself is at fault, or asks for what is not found here. */
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
      if (fits(value)) return { is: "made", value };
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

/** A value that fits the schema, checked. */
export function jsonAnswer(schema: SchemaNode, ports: Ports): JsonAnswer {
  try {
    return withinTime(MAX_MS, () => attempt(prepareSchema(schema), ports), readyChecks);
  } catch (error) {
    return { is: "impossible", reason: reasonOf(error) };
  }
}
