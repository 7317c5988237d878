import type { Endpoint } from "../http/call.ts";
import { type ErrorCode, HTTP_STATUS } from "../http/refusal.ts";
import type { OperationSpec, Success } from "./operation-spec.ts";
import { refTo } from "./schema.ts";

const MEANING: Readonly<Record<number, string>> = {
  400: "The request is wrong as it stands; details say where.",
  401: "No credential, or not a valid one.",
  402: "The wallet cannot fund the request; billing says more.",
  403: "The credential lacks a scope, or its owner left the workspace.",
  404: "There is no such thing, or it is not visible to you.",
  409: "It is in use, or the idempotency key is.",
  410: "The model is retired; replaced_by may name its successor.",
  422: "Moderation refused the input.",
  429: "Over the rate limit; retry_after says how long to wait.",
  500: "Something unexpected went wrong.",
  503: "It could not be finished now; try again.",
};

const whole = (description: string, required = true) => ({ description, required, schema: { type: "integer" } });

const RETRY_AFTER = "Seconds; also retry_after.";
const RATE_HEADERS = {
  "Retry-After": whole(RETRY_AFTER),
  "X-RateLimit-Limit": whole("Requests per window."),
  "X-RateLimit-Remaining": whole("Requests left in it."),
  "X-RateLimit-Reset": whole("Its end, in Unix seconds."),
};
const RETRY_HEADERS = { "Retry-After": whole(`${RETRY_AFTER} Sent when retryable.`, false) };

const ALWAYS = {
  "X-Trace-Id": { $ref: "#/components/headers/TraceId" },
  "X-Request-Id": { $ref: "#/components/headers/RequestId" },
};

function failure(status: number) {
  const headers = status === 429 ? RATE_HEADERS : RETRY_HEADERS;
  return {
    description: MEANING[status] ?? "The request failed.",
    headers: { ...ALWAYS, ...headers },
    content: { "application/json": { schema: refTo("ErrorResponse") } },
  };
}

/** Error responses implied by an endpoint's inputs and required access. */
function usualErrors(endpoint: Endpoint, spec: OperationSpec): ErrorCode[] {
  const takesInput = spec.body !== undefined || spec.query !== undefined;
  return [
    ...(takesInput ? (["INVALID_ARGUMENT"] as const) : []),
    ...(endpoint.access === "public" ? [] : (["UNAUTHORIZED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"] as const)),
    ...(endpoint.path.includes("{") ? (["NOT_FOUND"] as const) : []),
    "INTERNAL",
  ];
}

/**
 * OpenAPI 3.1 has no `itemSchema` for the events of a stream. Generators that read streams use `schema` for the data of
 * one event; an extension describes the whole frame, with its event name and id.
 */
const streamed = (name: string) => ({
  "text/event-stream": { schema: refTo(`${name}Data`), "x-itemSchema": refTo(`${name}Frame`) },
});

function success({ description, content = {}, stream, headers = {} }: Success) {
  const bodies = Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema }]);
  const all = { ...Object.fromEntries(bodies), ...(stream ? streamed(stream) : {}) };
  return {
    description,
    headers: { ...ALWAYS, ...headers },
    ...(Object.keys(all).length > 0 ? { content: all } : {}),
  };
}

function parameters(endpoint: Endpoint, spec: OperationSpec) {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const of = (place: string, named: OperationSpec["query"] = {}) =>
    Object.entries(named).map(([name, schema]) => ({ name, in: place, required: false, schema }));
  return [...inPath, ...of("query", spec.query), ...of("header", spec.headers)];
}

/** Required access: OpenAPI 3.1 lists the scopes next to the scheme. */
function security({ access, isOpen }: Endpoint) {
  if (access === "public") return [];
  const scopes = access === "key" || access === "credential" ? [] : [access];
  const credentials = [{ bearer: scopes }, { key: scopes }];
  return isOpen ? [...credentials, {}] : credentials;
}

/** One operation of the document, from an endpoint's row in the table and its description. */
export function operation(endpoint: Endpoint, spec: OperationSpec) {
  const codes = [...usualErrors(endpoint, spec), ...(spec.errors ?? [])];
  const statuses = [...new Set(codes.map((code) => HTTP_STATUS[code]))].sort((a, b) => a - b);
  const taken = parameters(endpoint, spec);
  const { body } = spec;
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: endpoint.summary,
    security: security(endpoint),
    ...(taken.length > 0 ? { parameters: taken } : {}),
    ...(body
      ? { requestBody: { required: body.required ?? true, content: { [body.mediaType]: { schema: body.schema } } } }
      : {}),
    responses: {
      [spec.success.status]: success(spec.success),
      ...Object.fromEntries(statuses.map((status) => [status, failure(status)])),
      default: failure(0),
    },
  };
}

export type Operation = ReturnType<typeof operation>;
