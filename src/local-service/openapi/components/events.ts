import { exactly, flag, id, instant, listOf, object, oneOf, orNull, refTo, text, uri, whole } from "../schema.ts";

const status = oneOf("PENDING", "DELIVERING", "DELIVERED", "FAILED");
const httpStatus = { type: ["integer", "null"], minimum: 100, maximum: 599 };

const last = {
  last_response_status: httpStatus,
  last_error: orNull(refTo("ErrorObject")),
  last_attempt_at: orNull(instant),
};

export const eventComponents = {
  WebhookPublicKey: object({
    algorithm: exactly("ed25519"),
    public_key: { type: "string", pattern: "^[A-Za-z0-9+/]{43}=$" },
  }),
  DefaultWebhook: object({
    url: orNull(uri),
    enabled: flag,
    updated_at: orNull(instant),
    updated_by_key_id: orNull(text),
  }),
  TestResult: object({ ok: flag, response_status: httpStatus, error: orNull(text) }),
  WebhookRedelivery: object({ requested_at: instant, status, attempts: whole, ...last }),
  WebhookDelivery: object({
    job_id: id("job"),
    job_accessible: flag,
    model: text,
    event_type: orNull(oneOf("job.completed", "job.failed")),
    status,
    source: oneOf("per_job", "default"),
    attempts: whole,
    redelivery_count: whole,
    redeliveries: listOf(refTo("WebhookRedelivery")),
    webhook_url: uri,
    created_at: instant,
    ...last,
  }),
  LogDrain: object({
    id: id("drain"),
    name: text,
    url: uri,
    format: oneOf("ndjson", "otlp"),
    header_names: listOf(text),
    enabled: flag,
    batch_size: { type: "integer", minimum: 1, maximum: 5000 },
    consecutive_failures: whole,
    last_success_at: orNull(instant),
    last_failure_at: orNull(instant),
    last_failure_status: httpStatus,
    last_error: orNull(refTo("ErrorObject")),
    disabled_reason: orNull(text),
    created_at: instant,
    updated_at: instant,
    updated_by_key_id: text,
  }),
};
