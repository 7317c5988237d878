import { readFile } from "node:fs/promises";
import { z } from "zod";
import { builtInFamilies } from "../families/index.ts";
import { cleanText } from "../kit/clean-text.ts";
import { ShowrunnerError } from "../kit/errors.ts";
import { writeDurably } from "../kit/files.ts";
import type { Catalog, CatalogModel, JsonSchema } from "../plan/index.ts";
import { isSchema, localRef } from "../plan/schema.ts";
import { catalogOf, described, type ModelAnswer } from "./catalog.ts";

/** The client methods that {@link fetchCatalog} uses. */
interface CatalogClient {
  models(): AsyncIterable<{ readonly id: string; readonly modality?: string | null }>;
  model(id: string): Promise<ModelAnswer>;
  /** Lists the jobs of a model or chat model. Fails if the model does not exist. */
  modelJobs?(id: string): AsyncIterable<unknown>;
}

interface PullClient extends CatalogClient {
  models(): AsyncIterable<ModelInList>;
  openapi(): Promise<JsonSchema>;
}

type ModelInList = Omit<ModelAnswer, "inputSchema" | "outputSchema">;
/**
 * Reads the models in `ids`, or all models that the service lists if `ids` is omitted. Unknown ids are left out. Also
 * checks which of the chat models in `chats` exist.
 */
export async function fetchCatalog(
  client: CatalogClient,
  ids?: readonly string[],
  chats: readonly string[] = [],
): Promise<Catalog> {
  const looks = chats.map((id) => lookForChat(client, id));
  return readCatalog(client, ids, looks);
}

/** Like {@link fetchCatalog}, for a caller that has already started the lookups of chat models. */
export async function readCatalog(
  client: CatalogClient,
  ids: readonly string[] | undefined,
  looks: readonly Promise<ChatLook>[],
): Promise<Catalog> {
  const requested = [...new Set(ids ?? (await listOf(client)).map(({ id }) => id))];
  const advice = new Map<string, string>();
  const found = await Promise.all(requested.map((id) => fetchModel(client, id, (text) => void advice.set(id, text))));
  const models = found.filter((model) => model !== null);
  // The list is needed only for suggestions, so failures are ignored.
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

export interface ChatLook {
  readonly id: string;
  readonly model: CatalogModel | null;
  readonly isLacking: boolean;
}

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

/** Reads all models of the service. Retired models keep the schema that they had in `previous`. */
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
    // The document has no output schemas, which are needed to distinguish sound models from voice models.
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

interface PullOptions {
  readonly onProgress?: ((read: number, all: number) => void) | undefined;
}

const isChatModel = ({ modality }: { readonly modality?: string | null }) => modality === "text";

async function listOf<T extends { readonly modality?: string | null }>(client: {
  models(): AsyncIterable<T>;
}): Promise<readonly T[]> {
  const listed: T[] = [];
  for await (const model of client.models()) if (!isChatModel(model)) listed.push(model);
  return listed;
}

async function inputsOf(client: PullClient): Promise<ReadonlyMap<string, JsonSchema>> {
  return typedInputs(await client.openapi().catch(() => ({})));
}

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
  /** True if the response came from something other than the service, such as a proxy. */
  readonly isForeign: boolean;
  readonly status: number | null;
  readonly code: string | null;
  readonly replacedBy: string | null;
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

interface Place {
  readonly pointer: string;
  readonly schema: JsonSchema;
}

/** Extracts the complete input schemas from the service's OpenAPI document, by model id. */
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

/** Copies everything that the schema refers to into its own `$defs`. Returns null if something is missing. */
function selfContained(document: JsonSchema, place: Place): JsonSchema | null {
  const bundle = new Bundle(document, place);
  const schema = bundle.copy(place.schema);
  if (!bundle.isWhole || !isSchema(schema)) return null;
  if (bundle.brought.size === 0) return schema;
  return { ...schema, $defs: { ...(isSchema(schema.$defs) && schema.$defs), ...Object.fromEntries(bundle.brought) } };
}

function plainName(key: string): string {
  return /^x-(?:media_type|role|default|(?:min|max)_\w+)$/.test(key) ? key.slice(2) : key;
}

class Bundle {
  isWhole = true;
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
        // A missing mapping entry is harmless, because the mapping only repeats the branches.
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
    // The part is registered before it is copied, because it may refer to itself.
    this.brought.set(name, null);
    this.brought.set(name, this.copy(localRef(this.#document, ref)));
    return name;
  }

  #unused(wanted: string): string {
    const definitions = this.#root.schema.$defs;
    const base = wanted.replaceAll(/[^\w.-]+/g, "_") || "part";
    let name = base;
    for (let n = 2; this.brought.has(name) || (isSchema(definitions) && Object.hasOwn(definitions, name)); n++)
      name = `${base}_${n}`;
    return name;
  }
}

/** A catalog snapshot could not be read: it is missing, is not JSON, or is not a list of models. */
export class SnapshotError extends ShowrunnerError {
  readonly code = "CATALOG_SNAPSHOT";
}

const text = z.string().nullable().default(null);
const record = z.record(z.string(), z.unknown()).nullable().default(null);

const entry = z.object({
  id: z.string().min(1),
  modality: text,
  name: text,
  description: text,
  price_description: text,
  input_schema: record,
  output_schema: record,
  state: z.enum(["live", "retired", "unsupported", "unknown"]).optional(),
  replaced_by: z.string().optional(),
});

export function snapshotText(catalog: Catalog): string {
  const entries = [...catalog.models()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(toEntry);
  return `${JSON.stringify(entries, null, 2)}\n`;
}

function toEntry(model: CatalogModel): z.input<typeof entry> {
  return {
    id: model.id,
    modality: model.modality,
    name: model.name,
    description: model.description,
    price_description: model.priceDescription,
    ...(model.state !== "live" && { state: model.state }),
    ...(model.replacedBy !== undefined && { replaced_by: model.replacedBy }),
    input_schema: { ...model.inputSchema },
    output_schema: Object.keys(model.outputSchema).length === 0 ? null : { ...model.outputSchema },
  };
}

export function parseSnapshot(json: string, name = "the catalog snapshot"): Catalog {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (cause) {
    throw new SnapshotError(`${name} is not JSON; write it again with: showrunner models pull`, { cause });
  }
  const parsed = z.array(entry).safeParse(data);
  if (parsed.success) return catalogOf(parsed.data.map(toModel));
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? "" : ` (${issue.path.join(".")}: ${issue.message})`;
  throw new SnapshotError(`${name} is not a list of models${where}; create it again with: showrunner models pull`);
}

function toModel(from: z.output<typeof entry>): CatalogModel {
  const model = described({
    id: from.id,
    modality: from.modality,
    name: from.name,
    description: from.description,
    priceDescription: from.price_description,
    inputSchema: from.input_schema,
    outputSchema: from.output_schema,
  });
  const state = from.state ?? model.state;
  return { ...model, state, ...(from.replaced_by !== undefined && { replacedBy: from.replaced_by }) };
}

export async function readSnapshot(path: string): Promise<Catalog> {
  let json: string;
  try {
    json = await readFile(path, "utf8");
  } catch (cause) {
    throw new SnapshotError(`${path} cannot be read; create it with: showrunner models pull`, { cause });
  }
  return parseSnapshot(json, path);
}

export async function writeSnapshot(path: string, catalog: Catalog): Promise<void> {
  await writeDurably(path, snapshotText(catalog));
}
