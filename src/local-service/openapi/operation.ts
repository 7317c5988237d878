import { z } from "zod";
import type { JsonSchema } from "../catalog/model.ts";
import type { Endpoint } from "../http/call.ts";
import { type ErrorCode, HTTP_STATUS } from "../http/refusal.ts";
import { submitBody } from "../request-bodies.ts";

export const text: JsonSchema = { type: "string" };
export const whole: JsonSchema = { type: "integer", minimum: 0 };
export const flag: JsonSchema = { type: "boolean" };
export const instant: JsonSchema = { type: "string", format: "date-time" };
export const uri: JsonSchema = { type: "string", format: "uri" };
export const dollars: JsonSchema = { type: "number", description: "US dollars." };
export const usd: JsonSchema = { type: "string", const: "USD" };

/**
 * Schema of an object with any fields. Without `additionalProperties`, code generators would treat the object as empty.
 */
export const anyFields: JsonSchema = { type: "object", additionalProperties: true };

export const oneOf = (...values: readonly string[]): JsonSchema => ({ type: "string", enum: values });
export const exactly = (value: string | boolean): JsonSchema => ({ type: typeof value, const: value });
export const listOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });
export const id = (prefix: string): JsonSchema => ({ type: "string", pattern: `^${prefix}_[0-9a-f-]{36}$` });
export const refTo = (component: string): JsonSchema => ({ $ref: `#/components/schemas/${component}` });

export function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  const isPlain = typeof type === "string" && !("enum" in schema) && !("const" in schema);
  return isPlain ? { ...schema, type: [type, "null"] } : { anyOf: [schema, { type: "null" }] };
}

type Fields = Readonly<Record<string, JsonSchema>>;

export function object(fields: Fields, optional: Fields = {}): JsonSchema {
  const required = Object.keys(fields);
  return { type: "object", ...(required.length > 0 ? { required } : {}), properties: { ...fields, ...optional } };
}

export const pageOf = (component: string): JsonSchema => refTo(`${component}Page`);

export function pages(...components: readonly string[]): Readonly<Record<string, JsonSchema>> {
  const page = (component: string) => object({ data: listOf(refTo(component)), next_cursor: orNull(text) });
  return Object.fromEntries(components.map((name) => [`${name}Page`, page(name)]));
}

export function bodyOf(body: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
  return schema;
}

export function submitRequest(input: JsonSchema): JsonSchema {
  const { properties, ...body } = bodyOf(submitBody);
  return { ...body, required: ["input"], properties: { ...(properties as object), input } };
}

export const TAGS = {
  models: { name: "Models", description: "The catalog, prices, and submit operations for all models." },
  submit: { name: "Submit", description: "One typed submit operation per model in the catalog." },
  jobs: { name: "Jobs", description: "Follow jobs and read their outputs." },
  files: { name: "Files", description: "Inputs to jobs." },
  chat: { name: "Chat", description: "Chat completions. Each one is a job." },
  billing: { name: "Billing", description: "The wallet and spending." },
  keys: { name: "Keys", description: "Keys and short-lived tokens." },
  webhooks: { name: "Webhooks", description: "Signed notifications about finished jobs." },
  drains: { name: "Log drains", description: "Lifecycle events, forwarded in batches." },
  openapi: { name: "OpenAPI", description: "This description." },
} as const;

export interface OperationSpec {
  readonly tag: string;
  readonly operationId: string;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly requiredQuery?: readonly string[];
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly body?: RequestBody;
  readonly success: Success;
  /** Error codes besides those that `usualErrors` adds. */
  readonly errors?: readonly ErrorCode[];
}

export interface RequestBody {
  readonly mediaType: "application/json" | "multipart/form-data" | "application/x-www-form-urlencoded";
  readonly schema: JsonSchema;
  /** Default: true. */
  readonly required?: boolean;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  readonly content?: Readonly<Record<string, JsonSchema>>;
  readonly stream?: "JobStream" | "ChatCompletionStream" | "ResponseStream";
  readonly headers?: Readonly<Record<string, object>>;
}

export type Specs = Readonly<Record<string, OperationSpec>>;

export function json(schema: JsonSchema, description: string, status: 200 | 201 | 202 = 200): Success {
  return { status, description, content: { "application/json": schema } };
}

export const empty = (description: string): Success => ({ status: 204, description });

export function jsonBody(schema: JsonSchema, required = true): RequestBody {
  return { mediaType: "application/json", schema, required };
}

export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  limit: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  cursor: { type: "string", description: "The next_cursor of the previous page; omit it for the first page." },
};

const MEANING: Readonly<Record<number, string>> = {
  400: "The request is invalid; `details` lists the invalid fields.",
  401: "The credential is missing or invalid.",
  402: "The wallet cannot fund the request; see the `billing` field.",
  403: "The credential lacks a scope, or its owner has left the workspace.",
  404: "The resource does not exist or is not visible to you.",
  409: "The resource or the idempotency key is in use.",
  410: "The model is retired; its successor may be given in `replaced_by`.",
  422: "Moderation refused the input.",
  429: "Rate limit exceeded; wait `retry_after` seconds.",
  500: "An unexpected error occurred.",
  503: "The request could not be completed; try again.",
};

const integerHeader = (description: string, required = true) => ({
  description,
  required,
  schema: { type: "integer" },
});

const RETRY_AFTER = "Seconds to wait, as in retry_after.";
const RATE_HEADERS = {
  "Retry-After": integerHeader(RETRY_AFTER),
  "X-RateLimit-Limit": integerHeader("Requests per window."),
  "X-RateLimit-Remaining": integerHeader("Requests left in the current window."),
  "X-RateLimit-Reset": integerHeader("End of the current window, in Unix seconds."),
};
const RETRY_HEADERS = { "Retry-After": integerHeader(`${RETRY_AFTER} Sent when retryable.`, false) };

const ALWAYS = {
  "X-Trace-Id": { $ref: "#/components/headers/TraceId" },
  "X-Request-Id": { $ref: "#/components/headers/RequestId" },
};

const SHOULD_RETRY = {
  description: "The value of the error's `retryable` field.",
  required: true,
  schema: oneOf("true", "false"),
};
const CHAT_RATE_HEADERS = {
  ...Object.fromEntries(Object.entries(RATE_HEADERS).map(([name, header]) => [name, { ...header, required: false }])),
  "X-RateLimit-Concurrency-Limit": integerHeader(
    "Limit on requests in flight; sent only when the limit is exceeded.",
    false,
  ),
  "X-RateLimit-Concurrency-Remaining": integerHeader("Always 0.", false),
};

export type Described = Omit<Endpoint, "handle">;

function failure(status: number, { hasChatErrors }: Described) {
  const limits = hasChatErrors ? CHAT_RATE_HEADERS : RATE_HEADERS;
  const retry = status === 429 ? limits : RETRY_HEADERS;
  const headers = { ...retry, ...(hasChatErrors && { "X-Should-Retry": SHOULD_RETRY }) };
  return {
    description: MEANING[status] ?? "The request failed.",
    headers: { ...ALWAYS, ...headers },
    content: { "application/json": { schema: refTo("ErrorResponse") } },
  };
}

function usualErrors(endpoint: Described, spec: OperationSpec): ErrorCode[] {
  const takesInput = spec.body !== undefined || spec.query !== undefined;
  return [
    ...(takesInput ? (["INVALID_ARGUMENT"] as const) : []),
    ...(endpoint.access === "public" ? [] : (["UNAUTHORIZED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"] as const)),
    ...(endpoint.path.includes("{") ? (["NOT_FOUND"] as const) : []),
    "INTERNAL",
  ];
}

/** Describes an event stream. `x-itemSchema` describes its frames, because OpenAPI 3.1 has no `itemSchema`. */
const streamed = (name: string) => ({
  "text/event-stream": { schema: refTo(`${name}Data`), "x-itemSchema": refTo(`${name}Frame`) },
});

function success({ description, content = {}, stream, headers = {} }: Success) {
  const bodies = Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema }]);
  const all = { ...Object.fromEntries(bodies), ...(stream ? streamed(stream) : {}) };
  return { description, headers: { ...ALWAYS, ...headers }, ...(Object.keys(all).length > 0 ? { content: all } : {}) };
}

function parameters(endpoint: Described, spec: OperationSpec) {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const of = (location: string, named: OperationSpec["query"] = {}) =>
    Object.entries(named).map(([name, schema]) => {
      return { name, in: location, required: spec.requiredQuery?.includes(name) ?? false, schema };
    });
  return [...inPath, ...of("query", spec.query), ...of("header", spec.headers)];
}

function security({ access, isOpen }: Described) {
  if (access === "public") return [];
  const scopes = access === "key" || access === "credential" ? [] : [access];
  const credentials = [{ bearer: scopes }, { key: scopes }];
  return isOpen ? [...credentials, {}] : credentials;
}

export function operation(endpoint: Described, spec: OperationSpec) {
  const codes = [...usualErrors(endpoint, spec), ...(spec.errors ?? [])];
  const statuses = [...new Set(codes.map((code) => HTTP_STATUS[code]))].sort((a, b) => a - b);
  const inputs = parameters(endpoint, spec);
  const { body } = spec;
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: endpoint.summary,
    security: security(endpoint),
    ...(inputs.length > 0 ? { parameters: inputs } : {}),
    ...(body
      ? { requestBody: { required: body.required ?? true, content: { [body.mediaType]: { schema: body.schema } } } }
      : {}),
    responses: {
      [spec.success.status]: success(spec.success),
      ...Object.fromEntries(statuses.map((status) => [status, failure(status, endpoint)])),
      default: failure(0, endpoint),
    },
  };
}

export type Operation = ReturnType<typeof operation>;
