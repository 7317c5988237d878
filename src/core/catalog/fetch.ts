import { builtInFamilies } from "../families/index.ts";
import { cleanText } from "../kit/clean-text.ts";
import type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
import { isSchema, localRef } from "../plan/schema/schema.ts";
import { catalogOf, described, type ModelAnswer } from "./catalog.ts";

/** What the catalog needs of a client; the v3 client has it. Errors carry `status`, `code` and `replacedBy`. */
export interface CatalogClient {
  models(): AsyncIterable<{ readonly id: string; readonly modality?: string | null }>;
  model(id: string): Promise<ModelAnswer>;
  /** Jobs of a model, of one for chat too; the first answer tells whether it exists. */
  modelJobs?(id: string): AsyncIterable<unknown>;
}

/** What reading a whole catalog needs besides. */
export interface PullClient extends CatalogClient {
  models(): AsyncIterable<ModelInList>;
  openapi(): Promise<JsonSchema>;
}

type ModelInList = Omit<ModelAnswer, "inputSchema" | "outputSchema">;
/**
 * Reads the models with these ids, or all that the service lists. Sends nothing but reads. A retired model, and one
 * that is not at this service yet, is there with its state; an unknown id is not. Throws what the client throws for
 * every other failure.
 *
 * `chats`: ids that are to be asked as chat models, which no catalog lists. What cannot be learnt of one is no evidence.
 */
export async function fetchCatalog(
  client: CatalogClient,
  ids?: readonly string[],
  chats: readonly string[] = [],
): Promise<Catalog> {
  const looks = chats.map((id) => lookForChat(client, id));
  return readCatalog(client, ids, looks);
}

/** {@link fetchCatalog} with what was asked of chat models by whoever keeps their answers. */
export async function readCatalog(
  client: CatalogClient,
  ids: readonly string[] | undefined,
  looks: readonly Promise<ChatLook>[],
): Promise<Catalog> {
  const requested = [...new Set(ids ?? (await listOf(client)).map(({ id }) => id))];
  const advice = new Map<string, string>();
  const found = await Promise.all(requested.map((id) => fetchModel(client, id, (text) => void advice.set(id, text))));
  const models = found.filter((model) => model !== null);
  // Only for "did you mean": a list that cannot be read is no problem of the plan.
  const listed = models.length < requested.length ? await listOf(client).catch(() => []) : [];
  const others = listed.map(({ id }) => id);
  const lacking = new Set<string>();
  for (const looked of await Promise.all(looks)) {
    if (looked.model !== null) models.push(looked.model);
    else if (looked.isLacking) lacking.add(looked.id);
  }
  return catalogOf(models, others, builtInFamilies, {
    advice: (id) => advice.get(id) ?? null,
    lacksChat: (id) => lacking.has(id),
  });
}

/** A model of that id that makes media; else whether the service says that it has none at all. */
export interface ChatLook {
  readonly id: string;
  readonly model: CatalogModel | null;
  readonly isLacking: boolean;
}

/** Sends two reads. What cannot be learnt throws nothing. */
export async function lookForChat(client: CatalogClient, id: string): Promise<ChatLook> {
  const model = await fetchModel(client, id).catch(() => null);
  if (model !== null && isChatModel(model)) return { id, model: null, isLacking: false };
  if (model !== null || client.modelJobs === undefined) return { id, model, isLacking: false };
  try {
    await client.modelJobs(id)[Symbol.asyncIterator]().next();
    return { id, model, isLacking: false };
  } catch (error) {
    const { isForeign, status, code } = readError(error);
    return { id, model, isLacking: !isForeign && status === 404 && code === "NOT_FOUND" };
  }
}

/**
 * Reads the whole catalog, and the models that an earlier one had: those that were removed stay listed with their
 * last known schema, marked as retired, so that code which uses them learns of their successor.
 *
 * The service's OpenAPI document has the inputs of all models at once; what it has not is read a model at a time.
 */
export async function pullCatalog(
  client: PullClient,
  previous: Catalog | null,
  { onProgress }: PullOptions = {},
): Promise<Catalog> {
  const [listed, inputs] = await Promise.all([listOf(client), inputsOf(client)]);
  const lone = new Map<string, CatalogModel | null>();
  const read = async (id: string) => {
    lone.set(id, await fetchModel(client, id));
    onProgress?.(lone.size, ids.length);
  };
  const known = new Map<string, CatalogModel>();
  for (const model of listed) {
    const inputSchema = inputs.get(model.id);
    // The document has no output schemas, and only among audio models does one decide what is made: a sound or a voice.
    if (inputSchema === undefined || model.modality === null || model.modality === "audio") continue;
    known.set(
      model.id,
      described({ ...model, inputSchema, outputSchema: previous?.model(model.id)?.outputSchema ?? null }),
    );
  }
  const all = new Set([...listed, ...(previous?.models() ?? [])].map(({ id }) => id));
  const ids = [...all].filter((id) => !known.has(id));
  await Promise.all(ids.map(read));
  const models = [...all].map((id) => known.get(id) ?? lone.get(id) ?? null).filter((model) => model !== null);
  return catalogOf(models.map((model) => asLastKnown(model, previous?.model(model.id) ?? null)));
}

export interface PullOptions {
  /** Called after each of the models that are read one by one. */
  readonly onProgress?: ((read: number, all: number) => void) | undefined;
}

/** Language models stand in the same list; a catalog is of models that make media. */
const isChatModel = ({ modality }: { readonly modality?: string | null }) => modality === "text";

async function listOf<T extends { readonly modality?: string | null }>(client: {
  models(): AsyncIterable<T>;
}): Promise<readonly T[]> {
  const listed: T[] = [];
  for await (const model of client.models()) if (!isChatModel(model)) listed.push(model);
  return listed;
}

/** Nothing where a deployment has no such document; what else is wrong shows at the next read. */
async function inputsOf(client: PullClient): Promise<ReadonlyMap<string, JsonSchema>> {
  return typedInputs(await client.openapi().catch(() => ({})));
}

/** A model that cannot be used any more keeps what was known of it. */
function asLastKnown(model: CatalogModel, before: CatalogModel | null): CatalogModel {
  const { state, message, replacedBy } = model;
  if (state === "live" || before === null) return model;
  return {
    ...before,
    state,
    ...(message !== undefined && { message }),
    ...(replacedBy !== undefined && { replacedBy }),
  };
}

async function fetchModel(
  client: CatalogClient,
  id: string,
  advise?: (text: string) => void,
): Promise<CatalogModel | null> {
  try {
    return described(await client.model(id));
  } catch (error) {
    const { isForeign, status, code, replacedBy, said } = readError(error);
    if (isForeign) throw error;
    if (replacedBy === null && (status === 404 || code === "NOT_FOUND")) {
      if (said !== null) advise?.(said);
      return null;
    }
    const blank = described({
      id,
      modality: null,
      name: null,
      description: null,
      priceDescription: null,
      inputSchema: null,
      outputSchema: null,
    });
    const message = error instanceof Error ? { message: error.message } : {};
    if (replacedBy !== null || status === 410 || code === "GONE") {
      return { ...blank, ...message, state: "retired", ...(replacedBy !== null && { replacedBy }) };
    }
    if (code === "FAILED_PRECONDITION") return { ...blank, ...message, state: "unsupported" };
    throw error;
  }
}
interface ReadError {
  /** Not the service's own word: a proxy's 404 says nothing about a model. */
  readonly isForeign: boolean;
  readonly status: number | null;
  readonly code: string | null;
  readonly replacedBy: string | null;
  /** The service's own words. */
  readonly said: string | null;
}

function readError(error: unknown): ReadError {
  const facts: {
    envelope?: unknown;
    status?: unknown;
    code?: unknown;
    replacedBy?: unknown;
    serviceMessage?: unknown;
  } = typeof error === "object" && error !== null ? error : {};
  return {
    isForeign: facts.envelope === false,
    status: typeof facts.status === "number" ? facts.status : null,
    code: typeof facts.code === "string" ? facts.code : null,
    replacedBy: typeof facts.replacedBy === "string" ? facts.replacedBy : null,
    said: typeof facts.serviceMessage === "string" ? cleanText(facts.serviceMessage, 300) : null,
  };
}

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

/** What OpenAPI has no keyword for stands in documents as an extension. */
function plainName(key: string): string {
  return /^x-(?:media_type|role|default|(?:min|max)_\w+)$/.test(key) ? key.slice(2) : key;
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
        return [plainName(key), isRef && !isLost ? this.#moved(value) : this.copy(value, key === "mapping")];
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
