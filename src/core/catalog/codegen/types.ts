import type { JsonSchema } from "../../plan/index.ts";
import { isMediaReference, type SchemaLocation, schemaLocation } from "../../plan/schema/field.ts";
import { applicable, branches, isSchema, localRef, propertySchemas } from "../../plan/schema/schema.ts";
import { comment, fieldDocs } from "./docs.ts";
import { pascal, unique } from "./names.ts";

/** Nested deeper than this, a value is `unknown`; the plan still checks it against the schema. */
const MAX_DEPTH = 12;

/** Declarations for the input of one model: its interface, and a type for each part that the schema names. */
export function inputDeclarations(schema: JsonSchema, name: string, taken: Set<string>): readonly string[] {
  return new TypeWriter(schema, name, taken).declarations();
}

/** How many outputs there are is said in the plan, before any value exists. */
const MUST_BE_KNOWN = new Set(["num_outputs"]);

class TypeWriter {
  readonly #root: JsonSchema;
  readonly #name: string;
  readonly #taken: Set<string>;
  /** Names of the parts that are referred to; a part may refer to itself. */
  readonly #named = new Map<JsonSchema, string>();
  readonly #waiting: JsonSchema[] = [];

  constructor(root: JsonSchema, name: string, taken: Set<string>) {
    this.#root = root;
    this.#name = name;
    this.#taken = taken;
  }

  declarations(): readonly string[] {
    this.#named.set(this.#root, this.#name);
    const location = schemaLocation(this.#root);
    const written = [`export interface ${this.#name} ${this.#object(this.#root, location, "", 0)}`];
    for (let part = this.#waiting.shift(); part !== undefined; part = this.#waiting.shift()) {
      written.push(`export type ${this.#named.get(part)} = ${this.#shape(part, null, "", 0)};`);
    }
    return written;
  }

  #type(schema: JsonSchema, location: SchemaLocation | null, indent: string, depth: number): string {
    if (depth > MAX_DEPTH) return "unknown";
    const special = this.#mediaOrVoice(schema, location);
    if (special !== null) return special;
    const target = localRef(this.#root, schema.$ref);
    return target === null ? this.#shape(schema, location, indent, depth) : this.#nameOf(target, String(schema.$ref));
  }

  #mediaOrVoice(schema: JsonSchema, location: SchemaLocation | null): string | null {
    const takes = location?.takes;
    if (takes?.what === "voice") return "Voice";
    const parts = applicable(this.#root, schema);
    const isList = parts.some(({ items, type }) => items !== undefined || type === "array");
    const media = takes?.what === "media" ? takes : isList ? location?.item(0)?.takes : undefined;
    if (media?.what !== "media") return null;
    const kinds = media.kinds.length === 0 ? ["image", "video", "audio"] : media.kinds;
    const union = kinds.map((kind) => JSON.stringify(kind)).join(" | ");
    const isOne = !isList || parts.some((part) => isMediaReference(this.#root, part));
    return [...(isOne ? [`Media<${union}>`] : []), ...(isList ? [`MediaList<${union}>`] : [])].join(" | ");
  }

  #nameOf(target: JsonSchema, ref: string): string {
    const known = this.#named.get(target);
    if (known !== undefined) return known;
    const last = ref.split("/").at(-1) ?? "";
    const name = unique(`${this.#name.replace(/Input$/, "")}${pascal(last)}`, this.#taken);
    this.#taken.add(name);
    this.#named.set(target, name);
    this.#waiting.push(target);
    return name;
  }

  #shape(schema: JsonSchema, location: SchemaLocation | null, indent: string, depth: number): string {
    if (Array.isArray(schema.enum)) return union(schema.enum.map(literal));
    if (schema.const !== undefined) return literal(schema.const);
    const types = [schema.type].flat().filter((type) => typeof type === "string");
    if (types.length > 0) {
      const written = union(types.map((type) => this.#ofType(type, schema, location, indent, depth)));
      return schema.nullable === true ? union([written, "null"]) : written;
    }
    if (isSchema(schema.properties)) return this.#object(schema, location, indent, depth);
    const choices = [...branches(schema, "oneOf"), ...branches(schema, "anyOf")];
    if (choices.length > 0) return union(choices.map((choice) => this.#type(choice, location, indent, depth + 1)));
    const all = branches(schema, "allOf").map((part) => this.#type(part, location, indent, depth + 1));
    const known = all.filter((type) => type !== "unknown");
    return known.length === 0 ? "unknown" : known.map((type) => (type.includes("|") ? `(${type})` : type)).join(" & ");
  }

  #ofType(type: string, schema: JsonSchema, location: SchemaLocation | null, indent: string, depth: number): string {
    switch (type) {
      case "integer":
      case "number":
        return "number";
      case "string":
      case "boolean":
      case "null":
        return type;
      case "array":
        return this.#list(schema, location, indent, depth);
      case "object":
        return this.#object(schema, location, indent, depth);
      default:
        return "unknown";
    }
  }

  #list(schema: JsonSchema, location: SchemaLocation | null, indent: string, depth: number): string {
    const positional = branches(schema, "prefixItems").map((item, index) =>
      this.#type(item, location?.item(index) ?? null, indent, depth + 1),
    );
    const item = isSchema(schema.items)
      ? orValue(this.#type(schema.items, location?.item(positional.length) ?? null, indent, depth + 1))
      : "unknown";
    if (positional.length === 0) return /^[\w<>"]+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`;
    return tuple(positional, item, schema);
  }

  /** Fields of all parts that may apply; required are those that always are. */
  #object(schema: JsonSchema, location: SchemaLocation | null, indent: string, depth: number): string {
    const parts = applicable(this.#root, schema);
    const names = new Set(parts.flatMap(({ properties }) => (isSchema(properties) ? Object.keys(properties) : [])));
    if (names.size === 0) return this.#open(schema, indent, depth);
    const required = requiredOf(this.#root, schema);
    const inner = `${indent}  `;
    const fields = [...names].map((name) => {
      const field = this.#field(parts, name, location, inner, depth);
      const docs = comment(fieldDocs(field.parts), inner);
      return `${docs}${inner}readonly ${keyOf(name)}${required.has(name) ? "" : "?"}: ${field.type};`;
    });
    return `{\n${fields.join("\n")}\n${indent}}`;
  }

  /** The first part that says a type wins: later ones come from conditions and only narrow it. */
  #field(parts: readonly JsonSchema[], name: string, location: SchemaLocation | null, indent: string, depth: number) {
    const described = parts.filter(({ properties }) => isSchema(properties) && Object.hasOwn(properties, name));
    const schemas = propertySchemas(described, name);
    const inner = location?.property(name) ?? null;
    const types = schemas.map((schema) => this.#type(schema, inner, indent, depth + 1));
    const type = types.find((type) => type !== "unknown") ?? "unknown";
    return { type: MUST_BE_KNOWN.has(name) ? type : orValue(type), parts: schemas.slice(0, 1) };
  }

  /** An object without named fields. */
  #open({ additionalProperties }: JsonSchema, indent: string, depth: number): string {
    if (additionalProperties === false) return "{ readonly [field: string]: never }";
    const value = isSchema(additionalProperties)
      ? this.#type(additionalProperties, null, indent, depth + 1)
      : "unknown";
    return `{ readonly [field: string]: ${value} }`;
  }
}

function requiredOf(root: JsonSchema, schema: JsonSchema, depth = 0): ReadonlySet<string> {
  if (depth > MAX_DEPTH) return new Set();
  const target = localRef(root, schema.$ref);
  const always = [...branches(schema, "allOf"), ...(target === null ? [] : [target])];
  const names = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
  return new Set([...names, ...always.flatMap((part) => [...requiredOf(root, part, depth + 1)])]);
}

/**
 * Plain JSON may come from a step as well. Not so media and voices, which say it themselves, what tells types apart, and
 * objects: their fields take values, and a misspelt one is only reported with its right name where nothing else is accepted.
 */
function orValue(type: string): string {
  if (type === "unknown" || /\b(?:Media|MediaList|Voice)\b/.test(withoutComments(type))) return type;
  if (/^(?:\{|[A-Z]\w*$)/.test(type)) return type;
  if (/^(?:"(?:[^"\\]|\\.)*"|-?[\d.]+|true|false|null)$/.test(type)) return type;
  return /^(?:string|number|boolean)$/.test(type) ? `${type} | Value<${type}>` : `OrValue<${type}>`;
}

const withoutComments = (code: string) => code.replace(/\/\*\*.*?\*\//gs, "");

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  return distinct.includes("unknown") ? "unknown" : distinct.join(" | ");
}

/** As many places as an array may have; those that it need not have are optional. */
function tuple(positional: readonly string[], item: string, { items, minItems, maxItems }: JsonSchema): string {
  const least = typeof minItems === "number" ? minItems : 0;
  const most = typeof maxItems === "number" ? maxItems : Number.POSITIVE_INFINITY;
  const places = positional
    .slice(0, most)
    .map((type, index) => (index < least ? type : /^[\w<>"]+$/.test(type) ? `${type}?` : `(${type})?`));
  const rest = items === false || most <= positional.length ? [] : [`...(${item})[]`];
  return `readonly [${[...places, ...rest].join(", ")}]`;
}

function literal(value: unknown): string {
  if (typeof value === "object" && value !== null) return "unknown";
  return JSON.stringify(value) ?? "unknown";
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
