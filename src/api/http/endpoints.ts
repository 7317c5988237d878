import type { z } from "zod";
import { type Listing, listing, type PageQuery } from "../paging.ts";
import type { Page } from "../wire.ts";
import { type ApiRequest, type CallOptions, call, decode, type HttpContext } from "./call.ts";

/** A request where its method does not say enough. */
type Special = Partial<Pick<ApiRequest, "requestClass" | "repeat">>;
type Query = NonNullable<ApiRequest["query"]>;

/** The endpoints of one client: each call sends one request and reads its answer with a schema. */
export type Endpoints = ReturnType<typeof endpointsOf>;

export function endpointsOf(context: HttpContext) {
  const get = <T>(schema: z.ZodType<T>, path: string, options?: CallOptions, query?: Query) =>
    fetchAs(context, schema, apiRequest("GET", path, { query }), options);
  const send =
    (method: "POST" | "PUT" | "PATCH") =>
    <T>(schema: z.ZodType<T>, path: string, json: unknown, options?: CallOptions, special?: Special) =>
      fetchAs(context, schema, apiRequest(method, path, { json, ...special }), options);
  return {
    get,
    post: send("POST"),
    put: send("PUT"),
    patch: send("PATCH"),
    delete: async (path: string, options?: CallOptions): Promise<void> => {
      await call(context, apiRequest("DELETE", path), options);
    },
    list<T>(
      page: z.ZodType<Page<T>>,
      path: string,
      { limit, cursor }: PageQuery = {},
      options?: CallOptions,
      filter?: Query,
    ): Listing<T> {
      return listing((next) => get(page, path, options, { ...filter, limit, cursor: next }), cursor);
    },
  };
}

/** A request with the defaults of its method: everything but POST may be repeated. */
function apiRequest(
  method: ApiRequest["method"],
  path: string,
  special: Special & Pick<ApiRequest, "query" | "json"> = {},
): ApiRequest {
  return {
    method,
    path,
    requestClass: method === "GET" ? "read" : "write",
    repeat: method === "POST" ? "unless-done" : "always",
    priority: 0,
    ...special,
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
