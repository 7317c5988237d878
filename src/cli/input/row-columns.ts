import { suggest } from "../../index.ts";
import { parseJson } from "../../json-text.ts";

/** A cell of a table is text; a field of a JSON row is a value. */
export type Cell = { readonly column: string } & ({ readonly text: string } | { readonly json: unknown });

/** What a row becomes. */
interface Target {
  readonly input: { [field: string]: unknown };
  readonly tags: { [key: string]: string };
  readonly notes: { [name: string]: unknown };
}

export interface Column {
  /** Puts a cell where it belongs; says what is wrong with it, or null. */
  put(cell: Cell, target: Target): string | null;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly additionalProperties?: unknown;
  readonly anyOf?: readonly Schema[];
}

/**
 * What a column means: a field of the input (dots reach into objects), `tag:team` a tag, `#note` what only tells rows apart.
 * The message of a mistake where the input has no such field.
 */
export function columnsOf(name: string, schema: unknown): Column | string {
  if (name.startsWith("#")) {
    return { put: (cell, { notes }) => putNote(name, cell, notes) };
  }
  if (name.startsWith("tag:")) return { put: (cell, { tags }) => putTag(name.slice(4), cell, tags) };
  const keys = name.split(".");
  const found = fieldAt(schema as Schema, keys);
  if (found === null) {
    const known = Object.keys((schema as Schema).properties ?? {});
    const [meant] = suggest(name, known);
    const hint = meant === undefined ? `its fields: ${known.join(", ")}` : `did you mean ${meant}?`;
    return `is no field of the input; ${hint}. A column that only tells rows apart begins with #`;
  }
  return { put: (cell, { input }) => putField(keys, cell, found, input) };
}

function putNote(name: string, cell: Cell, notes: Target["notes"]): null {
  notes[name] = "text" in cell ? cell.text : cell.json;
  return null;
}

function putTag(key: string, cell: Cell, tags: { [key: string]: string }): string | null {
  const value = "text" in cell ? cell.text : cell.json;
  if (typeof value !== "string") return "is no text";
  if (value !== "") tags[key] = value;
  return null;
}

/** An empty cell leaves the field out. Text is JSON where the field takes no text: `3`, `true`, `["a"]`. */
function putField(keys: readonly string[], cell: Cell, schema: Schema, input: Target["input"]): string | null {
  let value: unknown;
  if ("json" in cell) value = cell.json;
  else {
    if (cell.text === "") return null;
    const parsed = takesText(schema) ? { value: cell.text } : parseJson(cell.text.trim());
    if ("mistake" in parsed) return `${JSON.stringify(cell.text)} is no ${typeOf(schema)}`;
    value = parsed.value;
  }
  let parent = input;
  for (const key of keys.slice(0, -1)) {
    const child = Object.hasOwn(parent, key) ? parent[key] : undefined;
    const next = typeof child === "object" && child !== null ? (child as Target["input"]) : {};
    define(parent, key, next);
    parent = next;
  }
  define(parent, keys.at(-1)!, value);
  return null;
}

/** Whatever the key is called. */
function define(target: Target["input"], key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Null where the schema surely has no such field. */
function fieldAt(schema: Schema, keys: readonly string[]): Schema | null {
  const [key, ...rest] = keys;
  if (key === undefined) return schema;
  const { properties, additionalProperties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return fieldAt(properties[key]!, rest);
  const isOpen =
    properties === undefined || (typeof additionalProperties === "object" && additionalProperties !== null);
  return isOpen || additionalProperties === true ? {} : null;
}

function takesText(schema: Schema): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.includes("string");
}

function typesOf({ type, anyOf = [] }: Schema): readonly string[] {
  return [...(type === undefined ? [] : [type].flat()), ...anyOf.flatMap(typesOf)];
}

function typeOf(schema: Schema): string {
  return typesOf(schema).join(" or ");
}
