import type { z } from "zod";
import { type ApiRequest, type CallOptions, call, decode, type HttpContext } from "./call.ts";
import type { HttpMethod } from "./exchange.ts";

interface EndpointOptions {
  readonly query?: ApiRequest["query"];
  readonly json?: unknown;
  readonly requestClass?: ApiRequest["requestClass"];
  readonly repeat?: ApiRequest["repeat"];
  readonly priority?: number;
}

/** A request with the defaults of its method: everything but POST may be repeated. */
export function apiRequest(method: HttpMethod, path: string, options: EndpointOptions = {}): ApiRequest {
  return {
    method,
    path,
    query: options.query,
    json: options.json,
    requestClass: options.requestClass ?? (method === "GET" ? "read" : "write"),
    repeat: options.repeat ?? (method === "POST" ? "unless-done" : "always"),
    priority: options.priority ?? 0,
  };
}

/** Calls an endpoint and reads its answer. */
export async function fetchAs<T>(
  context: HttpContext,
  schema: z.ZodType<T>,
  request: ApiRequest,
  options?: CallOptions,
): Promise<T> {
  const answer = await call(context, request, options);
  return decode(schema, answer.body, request);
}
