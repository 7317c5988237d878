import type { z } from "zod";
import { MalformedResponseError } from "../errors.ts";
import type { Page } from "../wire.ts";
import { type ApiRequest, type CallOptions, call, decode, type HttpContext } from "./call.ts";

type Special = Partial<Pick<ApiRequest, "requestClass" | "repeat">>;
type Query = NonNullable<ApiRequest["query"]>;

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

export async function fetchAs<T>(
  context: HttpContext,
  schema: z.ZodType<T>,
  request: ApiRequest,
  options?: CallOptions,
): Promise<T> {
  const answer = await call(context, request, options);
  return decode(schema, answer.body, request);
}

/** Selects a page of a list. */
export interface PageQuery {
  /** Items per page, 1 to 100. The service's default is 20. */
  readonly limit?: number | undefined;
  /** The `nextCursor` of the previous page. Omit it for the first page. */
  readonly cursor?: string | null | undefined;
}

const maxEmptyPages = 20;

/** A list of items. Read one page at a time, or iterate over all items with `for await`. */
export interface Listing<T> extends AsyncIterable<T> {
  /** Reads the page that the query selects. */
  page(): Promise<Page<T>>;
  /** Iterates over all pages. */
  pages(): AsyncIterable<Page<T>>;
}

export function listing<T>(
  read: (cursor: string | null) => Promise<Page<T>>,
  cursor: string | null = null,
): Listing<T> {
  async function* pages(): AsyncGenerator<Page<T>, void> {
    const seen = new Set<string>();
    let empty = 0;
    for (let next = cursor; ; ) {
      const page = await read(next);
      yield page;
      empty = page.data.length === 0 ? empty + 1 : 0;
      if (empty > maxEmptyPages && page.nextCursor !== null) {
        throw new MalformedResponseError("a list request", [
          `${empty} pages in a row were empty, but each one links to a next page`,
        ]);
      }
      next = page.nextCursor;
      // A repeated cursor would lead to an endless loop.
      if (next === null || seen.has(next)) return;
      seen.add(next);
    }
  }
  return {
    page: () => read(cursor),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data;
    },
  };
}
