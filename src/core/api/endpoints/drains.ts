import { z } from "zod";
import { segment } from "../base-url.ts";
import type { CallOptions } from "../http/call.ts";
import type { Endpoints, Listing, PageQuery } from "../http/endpoints.ts";
import { anyOf, listOf, number, optional, pageOf, text, wire, withDefault } from "../wire.ts";
import { type WebhookTest, webhookTest } from "./webhooks.ts";

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
