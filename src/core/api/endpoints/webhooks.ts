import { z } from "zod";
import { serviceError } from "../errors/api-error.ts";
import type { CallOptions } from "../http/call.ts";
import type { Endpoints, Listing, PageQuery } from "../http/endpoints.ts";
import { segment } from "../options.ts";
import { anyOf, listOf, number, optional, optionalAnyOf, pageOf, text, wire, withDefault } from "../wire.ts";

const defaultWebhook = wire({
  url: text,
  enabled: withDefault(z.boolean(), true),
  updatedAt: text,
  updatedByKeyId: text,
});
export type DefaultWebhook = z.output<typeof defaultWebhook>;

export const webhookTest = wire({
  ok: z.boolean(),
  responseStatus: number,
  /** The service sends a text or an error object. */
  error: optional(z.union([z.string(), z.object({ message: z.string() }).transform((error) => error.message)])),
});
export type WebhookTest = z.output<typeof webhookTest>;

export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED" | (string & {});

const lastAttempt = { lastResponseStatus: number, lastError: optional(serviceError), lastAttemptAt: text };

const redelivery = wire({
  requestedAt: text,
  status: optionalAnyOf<DeliveryStatus>(),
  attempts: number,
  ...lastAttempt,
});
/** The state of a delivery when a person requested its replay. */
export type Redelivery = z.output<typeof redelivery>;

const delivery = wire({
  jobId: z.string(),
  /** False when the job belongs to another owner: GET /jobs/{id} answers 404 then. */
  jobAccessible: withDefault(z.boolean(), true),
  model: text,
  /** job.completed or job.failed; null until the delivery fires. */
  eventType: text,
  status: anyOf<DeliveryStatus>(),
  source: optionalAnyOf<"per_job" | "default">(),
  /** Cumulative across redeliveries. */
  attempts: withDefault(z.number(), 0),
  /** May exceed the length of `redeliveries`: older ones are only counted. */
  redeliveryCount: withDefault(z.number(), 0),
  redeliveries: listOf(redelivery),
  webhookUrl: text,
  createdAt: text,
  ...lastAttempt,
});
export type Delivery = z.output<typeof delivery>;

const publicKey = wire({ algorithm: withDefault(z.string(), "ed25519"), publicKey: z.string() });

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
  publicKey(options?: CallOptions): Promise<z.output<typeof publicKey>>;
}

const deliveryPage = pageOf(delivery);
const path = "/webhooks/default";

export function webhooksApi(api: Endpoints): WebhooksApi {
  return {
    default: {
      get: (options) => api.get(defaultWebhook, path, options),
      set: ({ url, enabled }, options) => api.put(defaultWebhook, path, { url, enabled }, options),
      delete: (options) => api.delete(path, options),
      test: (options) => api.post(webhookTest, `${path}/test`, {}, options),
    },
    deliveries: (query, options) => api.list(deliveryPage, "/webhooks/deliveries", query, options),
    redeliver: (jobId, options) => api.post(delivery, `/webhooks/deliveries/${segment(jobId)}/redeliver`, {}, options),
    publicKey: (options) => api.get(publicKey, "/webhooks/public-key", options),
  };
}

const logDrain = wire({
  id: z.string(),
  name: text,
  url: text,
  format: withDefault(anyOf<"ndjson" | "otlp">(), "ndjson"),
  headerNames: listOf(z.string()),
  enabled: withDefault(z.boolean(), true),
  batchSize: number,
  consecutiveFailures: withDefault(z.number(), 0),
  lastSuccessAt: text,
  lastFailureAt: text,
  lastFailureStatus: number,
  lastError: optional(z.unknown()),
  disabledReason: text,
  createdAt: text,
  updatedAt: text,
  updatedByKeyId: text,
});
/** A log drain as the service shows it: never with its secret or header values. */
export type LogDrain = z.output<typeof logDrain>;

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

const drainPage = pageOf(logDrain);
const pathOf = (drainId: string) => `/log-drains/${segment(drainId)}`;
const bodyOf = ({ name, url, format, secret, headers, enabled, batchSize }: Partial<DrainSettings>) => ({
  name,
  url,
  format,
  secret,
  headers,
  enabled,
  batch_size: batchSize,
});

export function drainsApi(api: Endpoints): DrainsApi {
  return {
    create: (drain, options) => api.post(logDrain, "/log-drains", bodyOf(drain), options),
    list: (query, options) => api.list(drainPage, "/log-drains", query, options),
    get: (drainId, options) => api.get(logDrain, pathOf(drainId), options),
    update: (drainId, changes, options) => api.patch(logDrain, pathOf(drainId), bodyOf(changes), options),
    delete: (drainId, options) => api.delete(pathOf(drainId), options),
    test: (drainId, options) => api.post(webhookTest, `${pathOf(drainId)}/test`, {}, options),
  };
}
