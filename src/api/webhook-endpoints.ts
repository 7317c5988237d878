import { segment } from "./base-url.ts";
import { type CallOptions, call, type HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import type { PageQuery } from "./jobs.ts";
import { type Listing, listing } from "./paging.ts";
import { pageOf } from "./wire/lenient.ts";
import {
  type DefaultWebhook,
  type Delivery,
  defaultWebhook,
  delivery,
  publicKey,
  type WebhookTest,
  webhookTest,
} from "./wire/webhook.ts";

export interface WebhooksApi {
  /** Where events of jobs go that name no webhook of their own. */
  readonly default: {
    get(options?: CallOptions): Promise<DefaultWebhook>;
    set(
      webhook: { readonly url: string; readonly enabled?: boolean | undefined },
      options?: CallOptions,
    ): Promise<DefaultWebhook>;
    delete(options?: CallOptions): Promise<void>;
    /** Sends a test event there and says what came back. */
    test(options?: CallOptions): Promise<WebhookTest>;
  };
  /** Chat jobs have no delivery. Not part of every deployment. */
  deliveries(query?: PageQuery, options?: CallOptions): Listing<Delivery>;
  /** Sends a finished delivery again; 409 while one is in flight. */
  redeliver(jobId: string, options?: CallOptions): Promise<Delivery>;
  /** Base64 of the raw 32 bytes of the ed25519 key that deliveries are signed with. */
  publicKey(options?: CallOptions): Promise<{ readonly algorithm: string; readonly publicKey: string }>;
}

const deliveries = pageOf(delivery);
const path = "/webhooks/default";

export function webhooksApi(context: HttpContext): WebhooksApi {
  return {
    default: {
      get: (options) => fetchAs(context, defaultWebhook, apiRequest("GET", path), options),
      set: (webhook, options) =>
        fetchAs(
          context,
          defaultWebhook,
          apiRequest("PUT", path, { json: { url: webhook.url, enabled: webhook.enabled } }),
          options,
        ),
      delete: async (options) => {
        await call(context, apiRequest("DELETE", path), options);
      },
      test: (options) => fetchAs(context, webhookTest, apiRequest("POST", `${path}/test`, { json: {} }), options),
    },
    deliveries: (query = {}, options) =>
      listing(
        (cursor) =>
          fetchAs(
            context,
            deliveries,
            apiRequest("GET", "/webhooks/deliveries", { query: { limit: query.limit, cursor } }),
            options,
          ),
        query.cursor,
      ),
    redeliver: (jobId, options) =>
      fetchAs(
        context,
        delivery,
        apiRequest("POST", `/webhooks/deliveries/${segment(jobId)}/redeliver`, { json: {} }),
        options,
      ),
    publicKey: async (options) => {
      const wire = await fetchAs(context, publicKey, apiRequest("GET", "/webhooks/public-key"), options);
      return { algorithm: wire.algorithm, publicKey: wire.public_key };
    },
  };
}
