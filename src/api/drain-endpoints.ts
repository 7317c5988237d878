import { segment } from "./base-url.ts";
import { type CallOptions, call, type HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import type { PageQuery } from "./jobs.ts";
import { type Listing, listing } from "./paging.ts";
import { type LogDrain, logDrain } from "./wire/drain.ts";
import { pageOf } from "./wire/lenient.ts";
import { type WebhookTest, webhookTest } from "./wire/webhook.ts";

export interface DrainSettings {
  /** 1 to 100 characters. */
  readonly name: string;
  readonly url: string;
  /** Default ndjson. */
  readonly format?: "ndjson" | "otlp" | undefined;
  /** 64 to 4096 characters; required for ndjson. The service never shows it again. */
  readonly secret?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly enabled?: boolean | undefined;
  /** Events a post, 1 to 5000. Default 1000. */
  readonly batchSize?: number | undefined;
}

/** Log drains; not part of every deployment. */
export interface DrainsApi {
  create(drain: DrainSettings, options?: CallOptions): Promise<LogDrain>;
  list(query?: PageQuery, options?: CallOptions): Listing<LogDrain>;
  get(drainId: string, options?: CallOptions): Promise<LogDrain>;
  /** Enabling a drain that was switched off clears its count of failures. */
  update(drainId: string, changes: Partial<DrainSettings>, options?: CallOptions): Promise<LogDrain>;
  delete(drainId: string, options?: CallOptions): Promise<void>;
  test(drainId: string, options?: CallOptions): Promise<WebhookTest>;
}

const drains = pageOf(logDrain);
const pathOf = (drainId: string) => `/log-drains/${segment(drainId)}`;

const wireOf = (drain: Partial<DrainSettings>) => ({
  name: drain.name,
  url: drain.url,
  format: drain.format,
  secret: drain.secret,
  headers: drain.headers,
  enabled: drain.enabled,
  batch_size: drain.batchSize,
});

export function drainsApi(context: HttpContext): DrainsApi {
  return {
    create: (drain, options) =>
      fetchAs(context, logDrain, apiRequest("POST", "/log-drains", { json: wireOf(drain) }), options),
    list: (query = {}, options) =>
      listing(
        (cursor) =>
          fetchAs(
            context,
            drains,
            apiRequest("GET", "/log-drains", { query: { limit: query.limit, cursor } }),
            options,
          ),
        query.cursor,
      ),
    get: (drainId, options) => fetchAs(context, logDrain, apiRequest("GET", pathOf(drainId)), options),
    update: (drainId, changes, options) =>
      fetchAs(context, logDrain, apiRequest("PATCH", pathOf(drainId), { json: wireOf(changes) }), options),
    delete: async (drainId, options) => {
      await call(context, apiRequest("DELETE", pathOf(drainId)), options);
    },
    test: (drainId, options) =>
      fetchAs(context, webhookTest, apiRequest("POST", `${pathOf(drainId)}/test`, { json: {} }), options),
  };
}
