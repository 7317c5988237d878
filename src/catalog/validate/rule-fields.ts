import type { JsonSchema } from "../../plan/index.ts";
import { applicable, isSchema, itemSchemas } from "../../plan/schema/schema.ts";

/** The fields of a schema as rules of families ask for them; each is looked for once. */
export class RuleFields {
  readonly #root: JsonSchema;
  readonly #parts: readonly JsonSchema[];
  readonly #known = new Map<string, readonly JsonSchema[]>();

  constructor(schema: JsonSchema) {
    this.#root = schema;
    this.#parts = applicable(schema, schema);
  }

  /** All that the schema says of a field; empty when it has none of that name. */
  of(name: string): readonly JsonSchema[] {
    return this.#once(name, () => this.#named(this.#parts, name));
  }

  /** All that it says of a field of a list's items. */
  ofItems(list: string, name: string): readonly JsonSchema[] {
    return this.#once(`${list}\n${name}`, () => {
      const items = itemSchemas(this.of(list), 0).flatMap((one) => applicable(this.#root, one));
      return this.#named(items, name);
    });
  }

  #once(key: string, find: () => readonly JsonSchema[]): readonly JsonSchema[] {
    const known = this.#known.get(key) ?? find();
    this.#known.set(key, known);
    return known;
  }

  #named(parts: readonly JsonSchema[], name: string): readonly JsonSchema[] {
    const own = parts.flatMap(({ properties }) =>
      isSchema(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
    );
    return own.filter(isSchema).flatMap((one) => applicable(this.#root, one));
  }
}

/** What a field is when it is not given; undefined for nothing. */
export function presetOf(schemas: readonly JsonSchema[]): unknown {
  return schemas.find((schema) => schema.default !== undefined && schema.default !== null)?.default;
}

/** The values that a field accepts; null where they are no closed set. */
export function acceptedOf(schemas: readonly JsonSchema[]): readonly unknown[] | null {
  const closed = schemas.filter((schema) => Array.isArray(schema.enum) || "const" in schema);
  return closed.length === 0 ? null : closed.flatMap((schema) => schema.enum ?? [schema.const]);
}
