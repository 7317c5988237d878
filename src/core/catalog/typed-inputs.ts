import type { JsonSchema } from "../plan/index.ts";
import { isSchema, localRef } from "../plan/schema/schema.ts";

/** A part of a document, and the JSON pointer that leads to it. */
interface Place {
  readonly pointer: string;
  readonly schema: JsonSchema;
}

/**
 * The input schema of every model that an OpenAPI document has a submit of its own for (`POST …/models/{id}`), by id, as a
 * schema by itself. A model whose schema is not found there, or refers to what is not, is left out.
 */
export function typedInputs(document: JsonSchema): ReadonlyMap<string, JsonSchema> {
  const inputs = new Map<string, JsonSchema>();
  for (const path of Object.keys(isSchema(document.paths) ? document.paths : {})) {
    const id = modelOf(path);
    const input = id === null ? null : inputOf(document, path);
    const schema = input && selfContained(document, input);
    if (id !== null && schema) inputs.set(id, schema);
  }
  return inputs;
}

function modelOf(path: string): string | null {
  const [, segment] = /(?:^|\/)models\/([^/{}]+)\/?$/.exec(path) ?? [];
  try {
    return segment === undefined ? null : decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function inputOf(document: JsonSchema, path: string): Place | null {
  const body = walk(document, placeAt(document, "#"), ["paths", path, "post", "requestBody", "content"]);
  const type = Object.keys(body?.schema ?? {}).find((name) => /\bjson\b/i.test(name));
  return body && type !== undefined ? walk(document, body, [type, "schema", "properties", "input"]) : null;
}

function walk(document: JsonSchema, from: Place | null, keys: readonly string[]): Place | null {
  let at = from;
  for (const key of keys) {
    const pointer = `${at?.pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("%", "%25")}`;
    const schema = at?.schema[key];
    at = isSchema(schema) ? followed(document, { pointer, schema }) : null;
  }
  return at;
}

/** Where its references lead; null where they lead nowhere, or in a circle. */
function followed(document: JsonSchema, from: Place): Place | null {
  const seen = new Set<string>();
  let at: Place | null = from;
  while (typeof at?.schema.$ref === "string") {
    if (seen.has(at.pointer)) return null;
    seen.add(at.pointer);
    at = placeAt(document, at.schema.$ref);
  }
  return at;
}

function placeAt(document: JsonSchema, ref: string): Place | null {
  const schema = localRef(document, ref);
  return schema && { pointer: ref, schema };
}

function decoded(ref: string): string {
  try {
    return decodeURIComponent(ref);
  } catch {
    return ref;
  }
}

/** With what it refers to in the document among its own `$defs`; null where that is not there. */
function selfContained(document: JsonSchema, place: Place): JsonSchema | null {
  const bundle = new Bundle(document, place);
  const schema = bundle.copy(place.schema);
  if (!bundle.isWhole || !isSchema(schema)) return null;
  if (bundle.brought.size === 0) return schema;
  return { ...schema, $defs: { ...(isSchema(schema.$defs) && schema.$defs), ...Object.fromEntries(bundle.brought) } };
}

/** Copies a part of a document, and all that it refers to. */
class Bundle {
  isWhole = true;
  /** By their names in `$defs`. */
  readonly brought = new Map<string, unknown>();
  readonly #document: JsonSchema;
  readonly #root: Place;
  readonly #names = new Map<string, string>();

  constructor(document: JsonSchema, root: Place) {
    this.#document = document;
    this.#root = root;
  }

  copy(node: unknown, isMapping = false): unknown {
    if (Array.isArray(node)) return node.map((item) => this.copy(item));
    if (!isSchema(node)) return node;
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => {
        const isRef = (key === "$ref" || isMapping) && typeof value === "string" && value.startsWith("#");
        // A mapping only repeats what its branches say, and may have been left as it was before they were moved.
        const isLost = isRef && localRef(this.#document, value) === null;
        if (isLost && !isMapping) this.isWhole = false;
        return [key, isRef && !isLost ? this.#moved(value) : this.copy(value, key === "mapping")];
      }),
    );
  }

  #moved(ref: string): string {
    const to = decoded(ref);
    const pointer = decoded(this.#root.pointer);
    if (to === pointer || to.startsWith(`${pointer}/`)) return `#${to.slice(pointer.length)}`;
    const name = this.#names.get(to) ?? this.#bring(ref, to);
    return `#/$defs/${name}`;
  }

  #bring(ref: string, to: string): string {
    const name = this.#unused(to.split("/").at(-1) ?? "");
    this.#names.set(to, name);
    // Named before it is copied: it may refer to itself.
    this.brought.set(name, null);
    this.brought.set(name, this.copy(localRef(this.#document, ref)));
    return name;
  }

  /** A name that needs no escaping in a pointer. */
  #unused(wanted: string): string {
    const definitions = this.#root.schema.$defs;
    const base = wanted.replaceAll(/[^\w.-]+/g, "_") || "part";
    let name = base;
    for (let n = 2; this.brought.has(name) || (isSchema(definitions) && Object.hasOwn(definitions, name)); n++)
      name = `${base}_${n}`;
    return name;
  }
}
