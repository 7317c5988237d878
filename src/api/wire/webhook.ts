import { z } from "zod";
import type { ServiceError } from "../errors/api-error.ts";
import { integer, listOf, optional, text, withDefault } from "./lenient.ts";
import { serviceError } from "./service-error.ts";

export interface DefaultWebhook {
  readonly url: string | null;
  readonly enabled: boolean;
  readonly updatedAt: string | null;
  readonly updatedByKeyId: string | null;
}

export interface WebhookTest {
  readonly ok: boolean;
  readonly responseStatus: number | null;
  readonly error: string | null;
}

export type DeliveryStatus = "PENDING" | "DELIVERING" | "DELIVERED" | "FAILED" | (string & {});

/** The state of a delivery when a person requested its replay. */
export interface Redelivery {
  readonly requestedAt: string | null;
  readonly status: DeliveryStatus | null;
  readonly attempts: number | null;
  readonly lastResponseStatus: number | null;
  readonly lastError: ServiceError | null;
  readonly lastAttemptAt: string | null;
}

export interface Delivery {
  readonly jobId: string;
  /** False when the job belongs to another owner: GET /jobs/{id} answers 404 then. */
  readonly jobAccessible: boolean;
  readonly model: string | null;
  /** job.completed or job.failed; null until the delivery fires. */
  readonly eventType: string | null;
  readonly status: DeliveryStatus;
  readonly source: "per_job" | "default" | (string & {}) | null;
  /** Cumulative across redeliveries. */
  readonly attempts: number;
  /** May exceed the length of `redeliveries`: older ones are only counted. */
  readonly redeliveryCount: number;
  readonly redeliveries: readonly Redelivery[];
  readonly lastResponseStatus: number | null;
  readonly lastError: ServiceError | null;
  readonly webhookUrl: string | null;
  readonly createdAt: string | null;
  readonly lastAttemptAt: string | null;
}

export const defaultWebhook = z
  .object({ url: text, enabled: withDefault(z.boolean(), true), updated_at: text, updated_by_key_id: text })
  .transform(
    (wire): DefaultWebhook => ({
      url: wire.url,
      enabled: wire.enabled,
      updatedAt: wire.updated_at,
      updatedByKeyId: wire.updated_by_key_id,
    }),
  );

/** A test's error may be a text or an error object. */
const testError = z.union([z.string(), z.object({ message: z.string() }).transform((error) => error.message)]);

export const webhookTest = z
  .object({ ok: z.boolean(), response_status: integer, error: optional(testError) })
  .transform((wire): WebhookTest => ({ ok: wire.ok, responseStatus: wire.response_status, error: wire.error }));

export const publicKey = z.object({ algorithm: withDefault(z.string(), "ed25519"), public_key: z.string() });

const attemptFields = {
  status: z.string(),
  attempts: withDefault(z.number(), 0),
  last_response_status: integer,
  last_error: optional(serviceError),
  last_attempt_at: text,
};

const redelivery = z.object({ ...attemptFields, status: text, attempts: integer, requested_at: text }).transform(
  (wire): Redelivery => ({
    requestedAt: wire.requested_at,
    status: wire.status,
    attempts: wire.attempts,
    lastResponseStatus: wire.last_response_status,
    lastError: wire.last_error,
    lastAttemptAt: wire.last_attempt_at,
  }),
);

export const delivery = z
  .object({
    ...attemptFields,
    job_id: z.string(),
    job_accessible: withDefault(z.boolean(), true),
    model: text,
    event_type: text,
    source: text,
    redelivery_count: withDefault(z.number(), 0),
    redeliveries: listOf(redelivery),
    webhook_url: text,
    created_at: text,
  })
  .transform(
    (wire): Delivery => ({
      jobId: wire.job_id,
      jobAccessible: wire.job_accessible,
      model: wire.model,
      eventType: wire.event_type,
      status: wire.status,
      source: wire.source,
      attempts: wire.attempts,
      redeliveryCount: wire.redelivery_count,
      redeliveries: wire.redeliveries,
      lastResponseStatus: wire.last_response_status,
      lastError: wire.last_error,
      webhookUrl: wire.webhook_url,
      createdAt: wire.created_at,
      lastAttemptAt: wire.last_attempt_at,
    }),
  );
