import type { CatalogEntry, JsonSchema } from "../catalog/model.ts";
import type { Endpoint } from "../http/call.ts";
import type { NormalOptions } from "../options.ts";
import { estimateComponent } from "./components/catalog.ts";
import { COMPONENTS } from "./components/index.ts";
import { type ModelNames, modelNames } from "./model-names.ts";
import { type Operation, operation } from "./operation.ts";
import { jsonBody, type OperationSpec, type Specs } from "./operation-spec.ts";
import { accountOperations } from "./operations/account.ts";
import { catalogOperations } from "./operations/catalog.ts";
import { eventOperations } from "./operations/events.ts";
import { jobOperations } from "./operations/jobs.ts";
import { refTo } from "./schema.ts";
import { SUBMIT_ERRORS, SUBMIT_SUCCESS, submitBody } from "./submit.ts";
import { TAG_OBJECTS, TAGS } from "./tags.ts";
import { webhookComponents, webhooksOf } from "./webhooks.ts";

/** The path of a model's own submit operation. */
export const modelPath = (id: string) => `/models/${encodeURIComponent(id)}`;

/** `POST /models/{model}` for one model, with the schema of its input. */
export function modelOperation(entry: CatalogEntry, { operationId }: ModelNames, input: JsonSchema): Operation {
  const endpoint: Endpoint = {
    method: "POST",
    path: modelPath(entry.id),
    access: "jobs:write",
    summary: `Submit a job to ${entry.name ?? entry.id}`,
    handle: () => ({ is: "empty", status: 204 }),
  };
  return operation(endpoint, {
    tag: TAGS.submit,
    operationId,
    body: jsonBody(submitBody(input)),
    success: SUBMIT_SUCCESS,
    // The model is listed, so it is neither unknown nor retired.
    errors: SUBMIT_ERRORS.filter((code) => code !== "NOT_FOUND" && code !== "GONE"),
  });
}

/** A model's input as a component, with its internal references rewritten to the component's path. */
export function inputComponent(entry: CatalogEntry, name: string): JsonSchema {
  const { $id: _id, ...schema } = entry.input_schema;
  return moved(schema, `#/components/schemas/${name}`) as JsonSchema;
}

/** A model's input inline in its operation; only its internal references differ from the catalog's schema. */
export function inlineInput({ id, input_schema }: CatalogEntry): JsonSchema {
  if ("$id" in input_schema) return input_schema;
  const path = modelPath(id).replaceAll("~", "~0").replaceAll("/", "~1");
  const place = `#/paths/${path}/post/requestBody/content/application~1json/schema/properties/input`;
  return moved(input_schema, place) as JsonSchema;
}

function moved(node: unknown, place: string): unknown {
  if (Array.isArray(node)) return node.map((item) => moved(item, place));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const isLocal = key === "$ref" && typeof value === "string" && value.startsWith("#");
      return [key, isLocal ? `${place}${value.slice(1)}` : moved(value, place)];
    }),
  );
}

/** The label of the API description that this service follows. */
export const API_VERSION = "3.21.14";

/** Description common to every endpoint below `/v3`. */
export const API_SPECS: Specs = { ...catalogOperations, ...jobOperations, ...accountOperations, ...eventOperations };

/** An endpoint without a description is still listed, and a test fails on it. */
function undescribed(route: string): OperationSpec {
  return {
    tag: "Undescribed",
    operationId: route.replaceAll(/[^A-Za-z0-9]+/g, "_"),
    success: { status: 200, description: "Not described yet." },
  };
}

type Paths = Record<string, Record<string, unknown>>;

function pathsOf(endpoints: readonly Endpoint[], specs: Specs): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    const route = `${endpoint.method} ${endpoint.path}`;
    const own = { [endpoint.method.toLowerCase()]: operation(endpoint, specs[route] ?? undescribed(route)) };
    paths[endpoint.path] = { ...paths[endpoint.path], ...own };
  }
  return paths;
}

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "`<key_id>:<secret>`, or a token." },
  key: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "`Key <key_id>:<secret>`",
  },
};

const HEADERS = {
  TraceId: {
    description: "Also trace_id of an error.",
    required: true,
    schema: { type: "string", pattern: "^[0-9a-f]{32}$" },
  },
  RequestId: { description: "Names this one request.", required: true, schema: { type: "string" } },
};

interface About {
  readonly title: string;
  readonly description: string;
  readonly server: string;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

/** The schemas reachable from a part of the document, transitively. */
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

/** What differs between deployments. */
export type Deployment = Pick<NormalOptions, "brand" | "unquotableCost">;

/** `GET /v3/openapi.json`: every endpoint of the table, one typed submit operation per model, and the webhooks. */
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
  return { ...document(about, { paths, webhooks: webhooksOf(brand) }, schemas), tags: TAG_OBJECTS };
}

/** `GET /_local/openapi.json`: the operator endpoints. */
export function operatorDocument(endpoints: readonly Endpoint[], specs: Specs) {
  const description = "What the operator of a local service may do. Answers on this machine only.";
  return document({ title: "Operator's side", description, server: "/_local" }, { paths: pathsOf(endpoints, specs) });
}

/** `GET /models/{model}/openapi.json`: one operation, with the schema of the catalog entry. */
export function modelDocument(entry: CatalogEntry, names: ModelNames) {
  const description = entry.description ?? "";
  const paths = { [modelPath(entry.id)]: { post: modelOperation(entry, names, inlineInput(entry)) } };
  return document({ title: entry.name ?? entry.id, description, server: "/v3" }, { paths });
}
