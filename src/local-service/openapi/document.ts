import type { CatalogEntry, JsonSchema } from "../catalog/model.ts";
import type { Endpoint } from "../http/call.ts";
import type { NormalOptions } from "../options.ts";
import { estimateComponent } from "./components/catalog.ts";
import { COMPONENTS } from "./components/index.ts";
import { type ModelNames, modelNames } from "./model-names.ts";
import { inlineInput, inputComponent, modelOperation, modelPath } from "./model-operation.ts";
import { operation } from "./operation.ts";
import type { OperationSpec, Specs } from "./operation-spec.ts";
import { accountOperations } from "./operations/account.ts";
import { catalogOperations } from "./operations/catalog.ts";
import { eventOperations } from "./operations/events.ts";
import { jobOperations } from "./operations/jobs.ts";
import { refTo } from "./schema.ts";
import { TAG_OBJECTS } from "./tags.ts";
import { webhookComponents, webhooksOf } from "./webhooks.ts";

/** The label of the API description that this service follows. */
export const API_VERSION = "3.21.14";

/** What is said of every endpoint below `/v3`. */
export const API_SPECS: Specs = { ...catalogOperations, ...jobOperations, ...accountOperations, ...eventOperations };

/** An endpoint that nobody has described yet still shows, and a test finds it. */
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

/** Those schemas that a part of the document leads to, over others too. */
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

/** `GET /v3/openapi.json`: every endpoint of the table, one typed submit operation a model, and what the service sends. */
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

/** `GET /_local/openapi.json`: the operator's side. */
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
