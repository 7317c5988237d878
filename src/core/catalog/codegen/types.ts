import type { CatalogModel, JsonSchema } from "../../plan/index.ts";
import { isMediaReference, type SchemaLocation, schemaLocation } from "../../plan/schema/field.ts";
import {
  applicable,
  branches,
  isSchema,
  localRef,
  propertySchemas,
  suggestedValues,
} from "../../plan/schema/schema.ts";
import { comment, fieldDocs } from "./docs.ts";

const MAX_DEPTH = 12;

export function inputDeclarations(schema: JsonSchema, name: string, taken: Set<string>): readonly string[] {
  return new TypeWriter(schema, name, taken).declarations();
}

/** These fields decide the number of outputs, so they must be known when a run is planned. */
const MUST_BE_KNOWN = new Set(["num_outputs"]);

class TypeWriter {
  readonly #root: JsonSchema;
  readonly #name: string;
  readonly #taken: Set<string>;
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
    const suggested = suggestedValues(schema);
    if (suggested !== null) {
      const isNullable = [schema, ...branches(schema, "anyOf")].some(
        ({ type, nullable }) => nullable === true || [type].flat().includes("null"),
      );
      return union([...suggested.map(literal), "(string & {})", ...(isNullable ? ["null"] : [])]);
    }
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

  /** A field is required only if every case requires it. */
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

  /** Takes the field's type from the first part that defines it. Later parts only narrow the type. */
  #field(parts: readonly JsonSchema[], name: string, location: SchemaLocation | null, indent: string, depth: number) {
    const described = parts.filter(({ properties }) => isSchema(properties) && Object.hasOwn(properties, name));
    const schemas = propertySchemas(described, name);
    const inner = location?.property(name) ?? null;
    const types = schemas.map((schema) => this.#type(schema, inner, indent, depth + 1));
    const type = types.find((type) => type !== "unknown") ?? "unknown";
    return { type: MUST_BE_KNOWN.has(name) ? type : orValue(type), parts: schemas.slice(0, 1) };
  }

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

/** Lets a field also accept a step's output. */
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

/** Derives names of generated values from model ids, such as `wan27` from `wan-2-7`. */
export function valueNames(models: readonly Pick<CatalogModel, "id">[]): ReadonlyMap<string, string> {
  const ids = models.map(({ id }) => id);
  const isAloneIn = (names: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const name of names) counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
    return (name: string) => counts.get(name.toLowerCase()) === 1;
  };
  const isAlone = isAloneIn(ids.map(short));
  const clashing = ids.filter((id) => !isAlone(short(id)));
  // A longer name must not equal the short name of another model.
  const isAloneThen = isAloneIn([...clashing.map(underscored), ...new Set(ids.map((id) => short(id).toLowerCase()))]);
  return new Map(
    ids.map((id) => {
      if (isAlone(short(id))) return [id, short(id)];
      return [id, isAloneThen(underscored(id)) ? underscored(id) : spelled(id)];
    }),
  );
}

function short(id: string): string {
  return camel(/^[a-z]+(?:[-_.][a-z]+)*[-_.]1$/i.test(id) ? id.slice(0, -2) : id);
}

function underscored(id: string): string {
  return identifier(id.replace(/[^A-Za-z0-9]+/g, "_"));
}

/** Replaces special characters with their codes, so that no two ids collide. */
function spelled(id: string): string {
  return identifier(id.replace(/[^a-z0-9]/gu, (character) => `$${character.codePointAt(0)!.toString(16)}$`));
}

function camel(id: string): string {
  const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word, index) => (index === 0 ? lowerFirst(word) : upperFirst(word))).join("");
  return joined === "" ? "model" : identifier(joined);
}

function identifier(name: string): string {
  return /^\d/.test(name) ? `_${name}` : name;
}

export function pascal(id: string): string {
  return upperFirst(camel(id).replace(/^_/, "Model"));
}

export function unique(name: string, taken: ReadonlySet<string>): string {
  const isTaken = (wanted: string) => [...taken].some((other) => other.toLowerCase() === wanted.toLowerCase());
  let candidate = name;
  for (let count = 2; isTaken(candidate); count++) candidate = `${name}_${count}`;
  return candidate;
}

const upperFirst = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const lowerFirst = (word: string) => word.charAt(0).toLowerCase() + word.slice(1);
