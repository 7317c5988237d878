import { z } from "zod";
import type { CallOptions } from "../http/call.ts";
import type { Endpoints, Listing, PageQuery } from "../http/endpoints.ts";
import { segment } from "../options.ts";
import {
  anyOf,
  currency,
  type Field,
  listOf,
  micros,
  number,
  optionalAnyOf,
  optionalMicros,
  pageOf,
  text,
  wire,
  withDefault,
} from "../wire.ts";

const balance = wire({ balanceMicros: micros, currency, spentMicros: optionalMicros });
/** The wallet's balance. */
export type Balance = z.output<typeof balance>;

const usage = wire({
  start: text,
  end: text,
  groupBy: text,
  totalJobs: number,
  /** Number of chat requests; null if the service does not count them. */
  totalRequests: number,
  totalSpentMicros: optionalMicros,
  currency,
  data: listOf(
    wire({ key: withDefault(z.string(), ""), jobs: withDefault(z.number(), 0), requests: number, spentMicros: micros }),
  ),
});
/** Job counts and costs for a period, grouped as requested. */
export type Usage = z.output<typeof usage>;

const transaction = wire({
  id: z.string(),
  kind: anyOf<"purchase" | "grant" | "usage" | "refund" | "adjustment" | "other">(),
  /** Amount of the change in micro-dollars; negative for a charge. */
  amountMicros: optionalMicros,
  currency: text,
  createdAt: text,
});
/** One change to the wallet's balance. */
export type Transaction = z.output<typeof transaction>;

const llmRequest = wire({
  /** `X-Request-Id` of the response. */
  id: z.string(),
  model: z.string(),
  status: anyOf<"pending" | "ok" | "upstream_error" | "client_abort" | "timeout" | "settlement_failed">(),
  streamed: withDefault(z.boolean(), false),
  promptTokens: number,
  /** Number of completion tokens, including reasoning tokens. */
  completionTokens: number,
  reasoningTokens: number,
  /** True if the service counted the tokens itself, because the model did not report them. */
  usageEstimated: withDefault(z.boolean(), false),
  costMicros: optionalMicros,
  currency: text,
  /** Time to the first token, in milliseconds. */
  ttftMs: number,
  durationMs: number,
  keyId: text,
  /** The completion's `id`, which is also the id of its job. */
  completionId: text,
  createdAt: text,
  settledAt: text,
});
/** A request to a language model, with its token counts and cost. Unknown values are null. */
export type LlmRequest = z.output<typeof llmRequest>;

/** Filters for the list of requests to language models. When you pass a cursor, keep the same filters. */
export interface LlmRequestQuery extends PageQuery {
  /** Lists only requests made at or after this ISO 8601 timestamp. */
  readonly start?: string | undefined;
  /** Lists only requests made before this ISO 8601 timestamp. */
  readonly end?: string | undefined;
  readonly model?: string | undefined;
  readonly keyId?: string | undefined;
}

/** The period and grouping of a usage report. */
export interface UsageQuery {
  /** Start of the period, as an ISO 8601 timestamp. The service's default is seven days before the end. */
  readonly start?: string | undefined;
  /** End of the period, as an ISO 8601 timestamp. Default: now. */
  readonly end?: string | undefined;
  readonly groupBy?: "total" | "day" | "model" | undefined;
}

/** A permission that a key or token can have. */
export type Scope =
  | "jobs:read"
  | "jobs:write"
  | "models:read"
  | "files:write"
  | "webhooks:manage"
  | "log_drains:manage"
  | "usage:read"
  | "keys:manage"
  | "chat:write"
  | (string & {});

/** What a key or token may do; null if unknown. An empty list allows nothing. */
export type Grant = "all" | readonly Scope[] | null;

const grant: Field<Grant> = z
  .array(z.string())
  .nullish()
  .transform((grant): Grant => (grant === undefined ? null : (grant ?? "all")));

const keyFields = {
  keyId: z.string(),
  kind: optionalAnyOf<"personal" | "service">(),
  name: text,
  scopes: grant,
  workspaceId: text,
  createdAt: text,
  expiresAt: text,
};

const apiKey = wire({
  ...keyFields,
  status: optionalAnyOf<"active" | "revoked" | "expired">(),
  revokedAt: text,
  lastUsedAt: text,
});
/** A key, without its secret. */
export type ApiKey = z.output<typeof apiKey>;

export const createdKey = wire({
  ...keyFields,
  credential: z.string(),
  /** When the old secret stops working after a rotation, as an ISO 8601 timestamp. */
  previousSecretExpiresAt: text,
});
/** A key with its secret, which the service shows only once. */
export type CreatedKey = z.output<typeof createdKey>;

/** Settings of a new key. */
export interface NewKey {
  readonly name?: string | undefined;
  /** The key's permissions. An empty list allows nothing. Default: full access. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly kind?: "personal" | "service" | undefined;
  readonly workspaceId?: string | undefined;
  /** When the key expires, as an ISO 8601 timestamp. */
  readonly expiresAt?: string | undefined;
}

/** Manages API keys. */
export interface KeysApi {
  /** Creates a key. Store its secret: the service shows it only once. */
  create(key?: NewKey, options?: CallOptions): Promise<CreatedKey>;
  /** Lists the keys, without their secrets. */
  list(query?: PageQuery, options?: CallOptions): Listing<ApiKey>;
  /** Issues a new secret. The old secret stays valid for the grace period, one day by default. */
  rotate(
    keyId: string,
    rotation?: { readonly gracePeriodSeconds?: number | undefined },
    options?: CallOptions,
  ): Promise<CreatedKey>;
  /** Revokes a key immediately. */
  delete(keyId: string, options?: CallOptions): Promise<void>;
}

const ephemeralToken = wire({
  token: z.string(),
  expiresAt: withDefault(z.string(), ""),
  scopes: grant,
  workspaceId: text,
});
/** A short-lived credential for a browser. */
export type EphemeralToken = z.output<typeof ephemeralToken>;

/** Manages ephemeral tokens. */
export interface TokensApi {
  /** Creates a token for a browser. The token's scopes must be a subset of the key's scopes. */
  create(
    token?: { readonly ttlSeconds?: number | undefined; readonly scopes?: readonly Scope[] | undefined },
    options?: CallOptions,
  ): Promise<EphemeralToken>;
}

/** Reads the account's balance and usage, and manages its keys and tokens. */
export interface AccountApi {
  /** Returns the wallet's balance. */
  balance(options?: CallOptions): Promise<Balance>;
  /** Returns the usage per period. Not every deployment supports this. */
  usage(query?: UsageQuery, options?: CallOptions): Promise<Usage>;
  /** Lists requests to language models, newest first. Not every deployment supports this. */
  llmRequests(query?: LlmRequestQuery, options?: CallOptions): Listing<LlmRequest>;
  /** Lists changes to the balance, newest first. Not every deployment supports this. */
  transactions(query?: PageQuery, options?: CallOptions): Listing<Transaction>;
  /** Creates, rotates and revokes API keys. */
  readonly keys: KeysApi;
  /** Creates short-lived tokens for browsers. */
  readonly tokens: TokensApi;
}

const keyPage = pageOf(apiKey);
const llmRequestPage = pageOf(llmRequest);
const transactionPage = pageOf(transaction);

export function accountApi(api: Endpoints): AccountApi {
  return {
    balance: (options) => api.get(balance, "/balance", options),
    usage: ({ start, end, groupBy } = {}, options) =>
      api.get(usage, "/usage", options, { start, end, group_by: groupBy }),
    llmRequests: ({ start, end, model, keyId, ...page } = {}, options) =>
      api.list(llmRequestPage, "/usage/llm", page, options, { start, end, model, key_id: keyId }),
    transactions: (query, options) => api.list(transactionPage, "/transactions", query, options),
    keys: {
      create: ({ name, scopes, kind, workspaceId, expiresAt } = {}, options) =>
        api.post(
          createdKey,
          "/keys",
          { name, scopes, kind, workspace_id: workspaceId, expires_at: expiresAt },
          options,
        ),
      list: (query, options) => api.list(keyPage, "/keys", query, options),
      rotate: (keyId, { gracePeriodSeconds } = {}, options) =>
        api.post(createdKey, `/keys/${segment(keyId)}/rotate`, { grace_period_seconds: gracePeriodSeconds }, options),
      delete: (keyId, options) => api.delete(`/keys/${segment(keyId)}`, options),
    },
    tokens: {
      create: ({ ttlSeconds, scopes } = {}, options) =>
        api.post(ephemeralToken, "/tokens", { ttl_seconds: ttlSeconds, scopes }, options, { repeat: "always" }),
    },
  };
}
