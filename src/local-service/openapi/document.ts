import { createHash } from "node:crypto";
import type { Catalog } from "../catalog/catalog.ts";
import type { CatalogEntry, JsonSchema } from "../catalog/model.ts";
import type { ChatModel } from "../chat/models.ts";
import { faultsBody } from "../faults/rules.ts";
import { type Endpoint, endpoint } from "../http/call.ts";
import { isRecord } from "../json.ts";
import type { NormalOptions } from "../options.ts";
import { clockBody, keyBody, memberBody, renderBody, walletBody } from "../request-bodies.ts";
import { COMPONENTS, estimateComponent } from "./components.ts";
import {
  bodyOf,
  type Described,
  json,
  jsonBody,
  type Operation,
  type OperationSpec,
  operation,
  refTo,
  type Specs,
  submitRequest,
  TAGS,
} from "./operation.ts";
import { API_SPECS, SUBMIT_ERRORS, SUBMIT_SUCCESS } from "./operations.ts";
import { webhookComponents, webhooksOf } from "./webhooks.ts";

export interface ModelNames {
  readonly operationId: string;
  readonly input: string;
}

const RESERVED = ["job", ""];

const words = (id: string): string[] => id.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

function pascal(id: string): string {
  return words(id)
    .map(capital)
    .join(" ")
    .replaceAll(/(?<=\d) (?=\d)/g, "_")
    .replaceAll(" ", "");
}

const short = (id: string) => createHash("sha256").update(id).digest("hex").slice(0, 6);

/**
 * Returns names for each model's operation and input. Adds a hash to names that are reserved or would otherwise be
 * equal.
 */
export function modelNames(ids: readonly string[]): ReadonlyMap<string, ModelNames> {
  const spelling = (id: string) => words(id).join("").toLowerCase();
  const uses = new Map<string, number>();
  for (const id of ids) uses.set(spelling(id), (uses.get(spelling(id)) ?? 0) + 1);
  return new Map(
    ids.map((id) => {
      const isAlone = uses.get(spelling(id)) === 1 && !RESERVED.includes(spelling(id));
      const suffix = isAlone ? "" : `_${short(id)}`;
      return [id, { operationId: `submit_${words(id).join("_")}${suffix}`, input: `${pascal(id)}Input${suffix}` }];
    }),
  );
}

export const modelPath = (id: string) => `/models/${encodeURIComponent(id)}`;

export function modelOperation(entry: CatalogEntry, { operationId }: ModelNames, input: JsonSchema): Operation {
  const summary = `Submit a job to ${entry.name ?? entry.id}`;
  return operation(
    { method: "POST", path: modelPath(entry.id), access: "jobs:write", summary },
    {
      tag: TAGS.submit.name,
      operationId,
      body: jsonBody(submitRequest(input)),
      success: SUBMIT_SUCCESS,
      // A listed model cannot be unknown or retired.
      errors: SUBMIT_ERRORS.filter((code) => code !== "NOT_FOUND" && code !== "GONE"),
    },
  );
}

/**
 * Returns the schema of a model's input. Defaults become `x-default`, because some generators treat fields with a
 * `default` as required.
 */
export function inputComponent(entry: CatalogEntry, name: string): JsonSchema {
  const { $id: _id, ...schema } = entry.input_schema;
  return inDocument(schema, `#/components/schemas/${name}`, ["default"]);
}

export function inlineInput({ id, input_schema }: CatalogEntry): JsonSchema {
  // A JSON pointer in a URL fragment is escaped twice: as a pointer and as a part of a URL.
  const path = modelPath(id).replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("%", "%25");
  const pointer = `#/paths/${path}/post/requestBody/content/application~1json/schema/properties/input`;
  return inDocument(input_schema, "$id" in input_schema ? "#" : pointer, []);
}

const ONE = "items additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties";
const SOME = "allOf anyOf oneOf prefixItems items";
const NAMED = "properties patternProperties $defs definitions dependentSchemas";
const PLAIN = `$schema $id $anchor $dynamicRef $dynamicAnchor $comment $ref type enum const default title description examples
  example deprecated readOnly writeOnly format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum
  multipleOf minItems maxItems uniqueItems minContains maxContains required minProperties maxProperties dependentRequired
  contentEncoding contentMediaType contentSchema discriminator xml externalDocs`;
const [one, some, named, plain] = [ONE, SOME, NAMED, PLAIN].map((words) => new Set(words.split(/\s+/)));

/** Adapts a schema to OpenAPI 3.1. Keywords that OpenAPI does not know, such as `media_type`, get the prefix `x-`. */
function inDocument(schema: unknown, pointer: string, extensions: readonly string[]): JsonSchema {
  const within = (part: unknown): unknown => {
    if (!isRecord(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => keyword(key, value)));
  };
  const moved = (ref: unknown) => (typeof ref === "string" && ref.startsWith("#") ? `${pointer}${ref.slice(1)}` : ref);
  const each = (parts: object, read: (part: unknown) => unknown) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, read(part)]));
  const keyword = (key: string, value: unknown): readonly [string, unknown] => {
    if (some!.has(key) && Array.isArray(value)) return [key, value.map(within)];
    if (one!.has(key)) return [key, within(value)];
    if (named!.has(key) && isRecord(value)) return [key, each(value, within)];
    if (key === "$ref") return [key, moved(value)];
    if (key === "discriminator" && isRecord(value) && isRecord(value["mapping"]))
      return [key, { ...value, mapping: each(value["mapping"], moved) }];
    const isKeyword = (plain!.has(key) && !extensions.includes(key)) || key.startsWith("x-");
    return [isKeyword ? key : `x-${key}`, value];
  };
  return within(schema) as JsonSchema;
}

/** The version of the published API description that this service implements. */
export const API_VERSION = "3.21.14";

type Paths = Record<string, Record<string, unknown>>;

function pathsOf(endpoints: readonly Described[], specs: Specs): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    const { method, path } = endpoint;
    const own = { [method.toLowerCase()]: operation(endpoint, specs[`${method} ${path}`]!) };
    paths[path] = { ...paths[path], ...own };
  }
  return paths;
}

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "`<key_id>:<secret>`, or a token." },
  key: { type: "apiKey", in: "header", name: "Authorization", description: "`Key <key_id>:<secret>`" },
};

const HEADERS = {
  TraceId: {
    description: "Equal to an error's trace_id.",
    required: true,
    schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  },
  RequestId: { description: "Identifies this request.", required: true, schema: { type: "string" } },
};

interface About {
  readonly title: string;
  readonly description: string;
  readonly server: string;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

function reached(part: unknown, schemas: Schemas): Schemas {
  const found = new Set<string>();
  const visit = (node: unknown) => {
    for (const [, name = ""] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/([^"/]+)/g)) {
      if (found.has(name) || !Object.hasOwn(schemas, name)) continue;
      found.add(name);
      visit(schemas[name]);
    }
  };
  visit(part);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)));
}

interface Content {
  readonly paths: Paths;
  readonly webhooks?: object;
}

function document({ title, description, server }: About, content: Content, more: Schemas = {}) {
  return {
    openapi: "3.1.0",
    info: { title, version: API_VERSION, description },
    servers: [{ url: server }],
    ...content,
    components: {
      schemas: reached(content, { ...COMPONENTS, ...more }),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

export type Deployment = Pick<NormalOptions, "brand" | "unquotableCost">;

export function apiDocument(endpoints: readonly Endpoint[], models: readonly CatalogEntry[], options: Deployment) {
  const { brand, unquotableCost } = options;
  const paths = pathsOf(endpoints, API_SPECS);
  const schemas: Record<string, JsonSchema> = {
    ...webhookComponents(brand),
    Estimate: estimateComponent(unquotableCost),
  };
  const names = modelNames(models.map(({ id }) => id));
  for (const entry of models) {
    const name = names.get(entry.id)!;
    schemas[name.input] = inputComponent(entry, name.input);
    paths[modelPath(entry.id)] = { post: modelOperation(entry, name, refTo(name.input)) };
  }
  const description = "Asynchronous media generation: submit a job, follow it, download its outputs.";
  const about = { title: "Media generation API", description, server: "/v3" };
  return { ...document(about, { paths, webhooks: webhooksOf(brand) }, schemas), tags: Object.values(TAGS) };
}

function operatorDocument(endpoints: readonly Endpoint[]) {
  const description = "Operator endpoints of a local service, reachable only from the same machine.";
  const paths = pathsOf(endpoints, operatorOperations);
  return document({ title: "Operator API", description, server: "/_local" }, { paths });
}

export function modelDocument(entry: CatalogEntry, names: ModelNames) {
  const description = entry.description ?? "";
  const paths = { [modelPath(entry.id)]: { post: modelOperation(entry, names, inlineInput(entry)) } };
  return document({ title: entry.name ?? entry.id, description, server: "/v3" }, { paths });
}

export function chatDocument({ id, name, description }: ChatModel) {
  const title = name ?? id;
  const chat = { method: "POST", path: "/chat/completions", access: "chat:write", hasChatErrors: true } as const;
  const paths = pathsOf([{ ...chat, summary: `Ask ${title}` }], API_SPECS);
  return document({ title, description: description ?? "", server: "/v3" }, { paths });
}

const tag = "Operator";
const ANY = { type: "object" };
const page = { status: 200, description: "An HTML page.", content: { "text/html": { type: "string" } } } as const;

function read(operationId: string, description: string): OperationSpec {
  return { tag, operationId, success: json(ANY, description) };
}

export const operatorOperations: Specs = {
  "GET /stats": read(
    "get_stats",
    "Totals since the data folder was created, except for requests, which are counted from when the service started.",
  ),
  "GET /wallet": read("get_wallets", "Every workspace's wallet."),
  "POST /wallet": { ...read("change_wallet", "Every workspace's wallet."), body: jsonBody(bodyOf(walletBody)) },
  "GET /fund": { tag, operationId: "show_funding", query: { workspace_id: { type: "string" } }, success: page },
  "POST /fund": {
    tag,
    operationId: "add_funds",
    query: { workspace_id: { type: "string" } },
    body: {
      mediaType: "application/x-www-form-urlencoded",
      schema: { type: "object", required: ["dollars"], properties: { dollars: { type: "number" } } },
    },
    success: page,
  },
  "POST /keys": {
    tag,
    operationId: "make_key",
    body: jsonBody(bodyOf(keyBody), false),
    success: json(ANY, "The key, with its credential.", 201),
  },
  "POST /members": {
    ...read("change_member", "The owner's state."),
    body: jsonBody(bodyOf(memberBody)),
    errors: ["NOT_FOUND"],
  },
  "GET /faults": read("get_faults", "The rules, each with the number of times it matched and was applied."),
  "POST /faults": { ...read("set_faults", "The updated rules."), body: jsonBody(bodyOf(faultsBody)) },
  "POST /render": { ...read("render", "Type and bytes."), body: jsonBody(bodyOf(renderBody)) },
  "GET /clock": read("get_clock", "Mode, factor and current time."),
  "POST /clock": { ...read("set_clock", "Mode, factor and current time."), body: jsonBody(bodyOf(clockBody)) },
  "GET /openapi.json": read("get_openapi", "This document."),
};

function withDocument(
  endpoints: readonly Endpoint[],
  summary: string,
  make: (all: readonly Endpoint[]) => object,
): readonly Endpoint[] {
  let text: string | undefined;
  const own = endpoint("GET", "/openapi.json", "public", summary, () => {
    text ??= JSON.stringify(make(all));
    return { is: "text", status: 200, body: text, headers: { "Content-Type": "application/json" } };
  });
  const all = [...endpoints, own];
  return all;
}

export function described(endpoints: readonly Endpoint[], catalog: Catalog, options: Deployment): readonly Endpoint[] {
  const models = catalog.list(null).map(({ entry }) => entry);
  return withDocument(endpoints, "This API as OpenAPI 3.1", (all) => apiDocument(all, models, options));
}

export function describedOperator(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return withDocument(endpoints, "The operator API as OpenAPI 3.1", operatorDocument);
}
