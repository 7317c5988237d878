import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { Principal } from "../access/authenticate.ts";
import { requestId as newRequestId, traceId as newTraceId } from "../store/rows.ts";
import { readJson } from "./body.ts";
import {
  type Access,
  type Answer,
  type Call,
  type Endpoint,
  type ErrorPorts,
  errorAnswer,
  type Headers,
} from "./call.ts";
import { asChatError, type ErrorBody, notFound, refuse } from "./refusal.ts";

function permit(principal: Principal, access: Access): void {
  if (access === "public" || access === "credential") return;
  if (access === "key") {
    if (principal.via === "token") throw refuse("PERMISSION_DENIED", "This endpoint requires a key, not a token.");
    return;
  }
  if (principal.scopes === null || principal.scopes.includes(access)) return;
  throw refuse("PERMISSION_DENIED", `The credential lacks the required scope: ${access}.`);
}

type Bindings = { Bindings: HttpBindings };

/** Called before and after every call under `/v3`. If `before` returns an answer, the endpoint is not called. */
export interface Interceptor {
  before(endpoint: Endpoint, call: Call): Promise<Answer | null>;
  after(endpoint: Endpoint, call: Call, answer: Answer): Promise<Answer>;
}

const NO_INTERCEPTOR: Interceptor = { before: async () => null, after: async (_endpoint, _call, answer) => answer };

export interface KernelPorts extends ErrorPorts {
  authenticate(authorization: string | null): Principal;
  limit(keyId: string): void;
  count(route: string, status: number): void;
  now(): number;
  readonly interceptor: Interceptor;
}

const EXPOSED = [
  "Location",
  "Retry-After",
  "X-RateLimit-Concurrency-Limit",
  "X-RateLimit-Concurrency-Remaining",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-Request-Id",
  "X-Should-Retry",
  "X-Trace-Id",
  "X-Idempotent-Replayed",
].join(", ");

const PREFLIGHT: Headers = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID",
  "Access-Control-Max-Age": "600",
};

function crossOrigin({ headers, url }: HttpBindings["incoming"]): Headers {
  const isForPages = headers.origin !== undefined && /^\/v3(\/|$)/.test(url ?? "");
  return !isForPages ? {} : { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED };
}

function standardHeaders(incoming: HttpBindings["incoming"], traceId: string, now: number): Headers {
  const date = new Date(now).toUTCString();
  return { "X-Trace-Id": traceId, "X-Request-Id": newRequestId(), Date: date, ...crossOrigin(incoming) };
}

const NOBODY: Principal = { keyId: "", workspaceId: "", ownerId: "", scopes: [], via: "secret", expiresAt: null };

function callOf(
  c: Context<Bindings>,
  { maxBodyBytes }: Endpoint,
  traceId: string,
  headers: Headers,
): Call & { principal: Principal } {
  const { incoming, outgoing } = c.env;
  let body: Promise<unknown> | undefined;
  return {
    method: c.req.method,
    param: (name) => c.req.param(name) ?? "",
    query: (name) => c.req.queries(name)?.at(-1) ?? null,
    header(name) {
      const value = incoming.headers[name.toLowerCase()];
      return (Array.isArray(value) ? value.join(", ") : value) ?? null;
    },
    json() {
      body ??= readJson(incoming, maxBodyBytes);
      return body;
    },
    principal: NOBODY,
    traceId,
    standardHeaders: headers,
    incoming,
    outgoing,
  };
}

function respond(answer: Answer, headers: Headers): Response {
  if (answer.is === "sent") return RESPONSE_ALREADY_SENT;
  const all: Record<string, string> = { ...headers, ...answer.headers };
  if (answer.is === "empty") return new Response(null, { status: answer.status, headers: all });
  if (answer.is === "text") return new Response(answer.body, { status: answer.status, headers: all });
  all["Content-Type"] = "application/json";
  return new Response(JSON.stringify(answer.body), { status: answer.status, headers: all });
}

function asChatAnswer(answer: Answer): Answer {
  if (answer.is !== "json" || answer.status < 400) return answer;
  const body = answer.body as { readonly error: ErrorBody };
  const error = asChatError(body.error);
  const { "Retry-After": _, ...headers } = answer.headers ?? {};
  const after = error.retryable ? { "Retry-After": String(error.retry_after) } : {};
  return {
    ...answer,
    body: { ...body, error },
    headers: { ...headers, ...after, "x-should-retry": String(error.retryable) },
  };
}

async function perform(endpoint: Endpoint, call: Call & { principal: Principal }, ports: KernelPorts): Promise<Answer> {
  try {
    const isAnonymous = endpoint.isOpen === true && call.header("authorization") === null;
    if (endpoint.access !== "public" && !isAnonymous) {
      call.principal = ports.authenticate(call.header("authorization"));
      permit(call.principal, endpoint.access);
      ports.limit(call.principal.keyId);
    }
    const instead = await ports.interceptor.before(endpoint, call);
    if (instead) return instead;
    return await endpoint.handle(call);
  } catch (error) {
    return errorAnswer(error, call.traceId, ports);
  }
}

function mount(app: Hono<Bindings>, prefix: string, endpoints: readonly Endpoint[], ports: KernelPorts): void {
  for (const endpoint of endpoints) {
    const route = `${endpoint.method} ${prefix === "/v3" ? "" : prefix}${endpoint.path}`;
    app.on(endpoint.method, `${prefix}${endpoint.path.replaceAll(/\{(\w+)\}/g, ":$1")}`, async (c) => {
      const traceId = newTraceId();
      const headers = standardHeaders(c.env.incoming, traceId, ports.now());
      const call = callOf(c, endpoint, traceId, headers);
      const answered = await ports.interceptor.after(endpoint, call, await perform(endpoint, call, ports));
      const answer = endpoint.hasChatErrors ? asChatAnswer(answered) : answered;
      ports.count(route, answer.status);
      return respond(answer, headers);
    });
  }
}

/** Matches a model id with a raw slash, such as `/models/zai-org/glm-5.3`. */
const RAW_ID = /^(\/v3\/models\/[^/]+)\/(?!(?:openapi\.json|estimate|jobs|voices)(?:\/|$))(?=[^/])/;

export function createKernel(
  tables: Readonly<Record<string, readonly Endpoint[]>>,
  ports: KernelPorts,
): Hono<Bindings> {
  const app = new Hono<Bindings>({ getPath: (request) => getPath(request).replace(RAW_ID, "$1%2F") });
  for (const [prefix, endpoints] of Object.entries(tables)) {
    mount(app, prefix, endpoints, prefix === "/v3" ? ports : { ...ports, interceptor: NO_INTERCEPTOR });
  }
  app.options("/v3/*", (c) => {
    const headers = standardHeaders(c.env.incoming, newTraceId(), ports.now());
    return respond({ is: "empty", status: 204, headers: PREFLIGHT }, headers);
  });
  const unknown = (c: Context<Bindings>, error: unknown) => {
    const traceId = newTraceId();
    const answer = errorAnswer(error, traceId, ports);
    ports.count("unknown", answer.status);
    return respond(answer, standardHeaders(c.env.incoming, traceId, ports.now()));
  };
  app.notFound((c) => unknown(c, notFound("There is no such endpoint.")));
  app.onError((error, c) => unknown(c, error));
  return app;
}
