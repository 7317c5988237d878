import { z } from "zod";
import { serviceError } from "../errors.ts";
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
/** The account's default webhook. */
export type DefaultWebhook = z.output<typeof defaultWebhook>;

export const webhookTest = wire({
  ok: z.boolean(),
  responseStatus: number,
  /** Why the test failed; null if it succeeded. */
  error: optional(z.union([z.string(), z.object({ message: z.string() }).transform((error) => error.message)])),
});
/** How the receiver responded to a test delivery. */
export type WebhookTest = z.output<typeof webhookTest>;

/** Status of a webhook delivery. Unknown values from a newer service are passed through unchanged. */
export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED" | (string & {});

const lastAttempt = { lastResponseStatus: number, lastError: optional(serviceError), lastAttemptAt: text };

const redelivery = wire({
  requestedAt: text,
  status: optionalAnyOf<DeliveryStatus>(),
  attempts: number,
  ...lastAttempt,
});
/** A repeated delivery that a person requested. */
export type Redelivery = z.output<typeof redelivery>;

const delivery = wire({
  jobId: z.string(),
  /** False if the job belongs to another owner and cannot be read. */
  jobAccessible: withDefault(z.boolean(), true),
  model: text,
  /** `job.completed` or `job.failed`; null until the first attempt. */
  eventType: text,
  status: anyOf<DeliveryStatus>(),
  source: optionalAnyOf<"per_job" | "default">(),
  /** Number of attempts so far, including redeliveries. */
  attempts: withDefault(z.number(), 0),
  /** Total number of redeliveries; `redeliveries` lists only the newest. */
  redeliveryCount: withDefault(z.number(), 0),
  redeliveries: listOf(redelivery),
  webhookUrl: text,
  createdAt: text,
  ...lastAttempt,
});
/** The delivery of one job's event, with its attempts. */
export type Delivery = z.output<typeof delivery>;

const publicKey = wire({ algorithm: withDefault(z.string(), "ed25519"), publicKey: z.string() });

/** Manages webhooks and their deliveries. */
export interface WebhooksApi {
  /** The webhook for jobs that were submitted without a webhook of their own. */
  readonly default: {
    get(options?: CallOptions): Promise<DefaultWebhook>;
    set(
      webhook: { readonly url: string; readonly enabled?: boolean | undefined },
      options?: CallOptions,
    ): Promise<DefaultWebhook>;
    delete(options?: CallOptions): Promise<void>;
    /** Sends a test event to the default webhook and returns the receiver's response. */
    test(options?: CallOptions): Promise<WebhookTest>;
  };
  /** Lists deliveries, newest first. Not every deployment supports this. */
  deliveries(query?: PageQuery, options?: CallOptions): Listing<Delivery>;
  /** Sends a delivery again. Fails with 409 while the previous delivery is in progress. */
  redeliver(jobId: string, options?: CallOptions): Promise<Delivery>;
  /** Returns the ed25519 key that signs deliveries: 32 raw bytes in Base64. */
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
/** A log drain. The service never returns its secret or header values. */
export type LogDrain = z.output<typeof logDrain>;

/** Settings of a log drain. */
export interface DrainSettings {
  /** Name, 1 to 100 characters. */
  readonly name: string;
  /** The URL to which the service posts the events. */
  readonly url: string;
  /** Format of the events. Default: `ndjson`. */
  readonly format?: "ndjson" | "otlp" | undefined;
  /** The signing secret, 64 to 4,096 characters long. Required for `ndjson`. */
  readonly secret?: string | undefined;
  /** HTTP headers to add to each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether events are posted. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Maximum number of events per request, 1 to 5,000. Default: 1,000. */
  readonly batchSize?: number | undefined;
}

/** Manages log drains. Not every deployment supports them. */
export interface DrainsApi {
  /** Creates a drain. */
  create(drain: DrainSettings, options?: CallOptions): Promise<LogDrain>;
  /** Lists the drains. */
  list(query?: PageQuery, options?: CallOptions): Listing<LogDrain>;
  /** Reads a drain. */
  get(drainId: string, options?: CallOptions): Promise<LogDrain>;
  /** Changes a drain. Enabling a disabled drain resets its failure count. */
  update(drainId: string, changes: Partial<DrainSettings>, options?: CallOptions): Promise<LogDrain>;
  /** Deletes a drain. */
  delete(drainId: string, options?: CallOptions): Promise<void>;
  /** Posts a test event and returns the receiver's response. */
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
