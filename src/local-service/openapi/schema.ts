import { z } from "zod";
import type { JsonSchema } from "../catalog/model.ts";
import { MAX_URL_LENGTH } from "../request-bodies.ts";

export const text: JsonSchema = { type: "string" };
export const whole: JsonSchema = { type: "integer", minimum: 0 };
export const flag: JsonSchema = { type: "boolean" };
export const instant: JsonSchema = { type: "string", format: "date-time" };
export const uri: JsonSchema = { type: "string", format: "uri" };
/** Decimal US dollars. */
export const dollars: JsonSchema = { type: "number", description: "US dollars." };
export const usd: JsonSchema = { type: "string", const: "USD" };

/** An object of any fields; generators treat an object schema that declares no fields as empty. */
export const anyFields: JsonSchema = { type: "object", additionalProperties: true };

export const oneOf = (...values: readonly string[]): JsonSchema => ({ type: "string", enum: values });
export const exactly = (value: string | boolean): JsonSchema => ({ type: typeof value, const: value });
export const listOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });
export const id = (prefix: string): JsonSchema => ({ type: "string", pattern: `^${prefix}_[0-9a-f-]{36}$` });
export const refTo = (component: string): JsonSchema => ({ $ref: `#/components/schemas/${component}` });

export function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  const isPlain = typeof type === "string" && !("enum" in schema) && !("const" in schema);
  return isPlain ? { ...schema, type: [type, "null"] } : { anyOf: [schema, { type: "null" }] };
}

type Fields = Readonly<Record<string, JsonSchema>>;

/** An object with all of `fields`, and optionally some of `optional`. */
export function object(fields: Fields, optional: Fields = {}): JsonSchema {
  const required = Object.keys(fields);
  return { type: "object", ...(required.length > 0 ? { required } : {}), properties: { ...fields, ...optional } };
}

/** A page of a list. */
export const pageOf = (component: string): JsonSchema => refTo(`${component}Page`);

/** The list shape as a component for each item type; the cursor is null on the last page. */
export function pages(...components: readonly string[]): Readonly<Record<string, JsonSchema>> {
  const page = (component: string) => object({ data: listOf(refTo(component)), next_cursor: orNull(text) });
  return Object.fromEntries(components.map((name) => [`${name}Page`, page(name)]));
}

/** The schema of a request body, generated from the schema that parses it. */
export function bodyOf(body: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
  return schema;
}

/** The body of a submit, around a model's input. */
export function submitBody(input: JsonSchema): JsonSchema {
  return object(
    { input },
    {
      webhook: {
        ...orNull({ ...uri, maxLength: MAX_URL_LENGTH }),
        description: "Where the signed event of the job's end goes.",
      },
      idempotency_key: {
        ...orNull({ ...text, minLength: 1, maxLength: 1024 }),
        description: "A retried submit with the same key replays the original acknowledgement.",
      },
    },
  );
}
