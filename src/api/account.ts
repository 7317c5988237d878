import { segment } from "./base-url.ts";
import { type CallOptions, call, type HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import type { PageQuery } from "./jobs.ts";
import { type Listing, listing } from "./paging.ts";
import {
  type ApiKey,
  apiKey,
  type CreatedKey,
  createdKey,
  type EphemeralToken,
  ephemeralToken,
  type Scope,
} from "./wire/access.ts";
import { type Balance, balance, type Usage, usage } from "./wire/account.ts";
import { pageOf } from "./wire/lenient.ts";

export interface UsageQuery {
  /** ISO-8601. Default: the service's, seven days before the end. */
  readonly start?: string | undefined;
  /** ISO-8601. Default: now. */
  readonly end?: string | undefined;
  readonly groupBy?: "total" | "day" | "model" | undefined;
}

export interface NewKey {
  readonly name?: string | undefined;
  /** Absent for full access. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly kind?: "personal" | "service" | undefined;
  readonly workspaceId?: string | undefined;
  /** ISO-8601. */
  readonly expiresAt?: string | undefined;
}

export interface KeysApi {
  create(key?: NewKey, options?: CallOptions): Promise<CreatedKey>;
  list(query?: PageQuery, options?: CallOptions): Listing<ApiKey>;
  /** The old secret stays valid for the grace period, a day by default. */
  rotate(
    keyId: string,
    rotation?: { readonly gracePeriodSeconds?: number | undefined },
    options?: CallOptions,
  ): Promise<CreatedKey>;
  delete(keyId: string, options?: CallOptions): Promise<void>;
}

export interface TokensApi {
  /** Mints a token for a browser. Its scopes must be a subset of the key's. */
  create(
    token?: { readonly ttlSeconds?: number | undefined; readonly scopes?: readonly Scope[] | undefined },
    options?: CallOptions,
  ): Promise<EphemeralToken>;
}

const keyPage = pageOf(apiKey);

export function readBalance(context: HttpContext, options?: CallOptions): Promise<Balance> {
  return fetchAs(context, balance, apiRequest("GET", "/balance"), options);
}

/** Not part of every deployment: where it is missing the service answers 404. */
export function readUsage(context: HttpContext, query: UsageQuery = {}, options?: CallOptions): Promise<Usage> {
  const request = apiRequest("GET", "/usage", {
    query: { start: query.start, end: query.end, group_by: query.groupBy },
  });
  return fetchAs(context, usage, request, options);
}

export function keysApi(context: HttpContext): KeysApi {
  return {
    create: (key = {}, options) =>
      fetchAs(
        context,
        createdKey,
        apiRequest("POST", "/keys", {
          json: {
            name: key.name,
            scopes: key.scopes,
            kind: key.kind,
            workspace_id: key.workspaceId,
            expires_at: key.expiresAt,
          },
        }),
        options,
      ),
    list: (query = {}, options) =>
      listing(
        (cursor) =>
          fetchAs(context, keyPage, apiRequest("GET", "/keys", { query: { limit: query.limit, cursor } }), options),
        query.cursor,
      ),
    rotate: (keyId, rotation = {}, options) =>
      fetchAs(
        context,
        createdKey,
        apiRequest("POST", `/keys/${segment(keyId)}/rotate`, {
          json: { grace_period_seconds: rotation.gracePeriodSeconds },
        }),
        options,
      ),
    delete: async (keyId, options) => {
      await call(context, apiRequest("DELETE", `/keys/${segment(keyId)}`), options);
    },
  };
}

export function tokensApi(context: HttpContext): TokensApi {
  return {
    create: (token = {}, options) =>
      fetchAs(
        context,
        ephemeralToken,
        apiRequest("POST", "/tokens", {
          json: { ttl_seconds: token.ttlSeconds, scopes: token.scopes },
          repeat: "always",
        }),
        options,
      ),
  };
}
