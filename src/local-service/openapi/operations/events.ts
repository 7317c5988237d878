import { empty, json, jsonBody, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { pageOf, refTo } from "../schema.ts";
import { TAGS } from "../tags.ts";

const { webhooks, drains } = TAGS;

export const eventOperations: Specs = {
  "GET /webhooks/public-key": {
    tag: webhooks,
    operationId: "get_webhook_public_key",
    success: json(refTo("WebhookPublicKey"), "The key that signatures are checked with."),
  },
  "GET /webhooks/default": {
    tag: webhooks,
    operationId: "get_webhook_default",
    success: json(refTo("DefaultWebhook"), "The default webhook; its url is null when none is set."),
  },
  "PUT /webhooks/default": {
    tag: webhooks,
    operationId: "set_webhook_default",
    body: jsonBody(refTo("SetDefaultWebhookRequest")),
    success: json(refTo("DefaultWebhook"), "The default webhook, as set."),
  },
  "DELETE /webhooks/default": {
    tag: webhooks,
    operationId: "delete_webhook_default",
    success: empty("There is none."),
  },
  "POST /webhooks/default/test": {
    tag: webhooks,
    operationId: "test_webhook_default",
    success: json(refTo("TestResult"), "How the test event was received."),
    errors: ["NOT_FOUND"],
  },
  "GET /webhooks/deliveries": {
    tag: webhooks,
    operationId: "list_webhook_deliveries",
    query: PAGE_QUERY,
    success: json(pageOf("WebhookDelivery"), "A page of deliveries, newest first."),
  },
  "POST /webhooks/deliveries/{job_id}/redeliver": {
    tag: webhooks,
    operationId: "redeliver_webhook",
    success: json(refTo("WebhookDelivery"), "The delivery, pending again."),
    errors: ["ALREADY_IN_PROGRESS"],
  },
  "GET /log-drains": {
    tag: drains,
    operationId: "list_log_drains",
    query: PAGE_QUERY,
    success: json(pageOf("LogDrain"), "A page of drains, newest first."),
  },
  "POST /log-drains": {
    tag: drains,
    operationId: "create_log_drain",
    body: jsonBody(refTo("CreateLogDrainRequest")),
    success: json(refTo("LogDrain"), "The drain.", 201),
    errors: ["FAILED_PRECONDITION"],
  },
  "GET /log-drains/{drain_id}": {
    tag: drains,
    operationId: "get_log_drain",
    success: json(refTo("LogDrain"), "The drain."),
  },
  "PATCH /log-drains/{drain_id}": {
    tag: drains,
    operationId: "update_log_drain",
    body: jsonBody(refTo("UpdateLogDrainRequest")),
    success: json(refTo("LogDrain"), "The drain, as changed."),
  },
  "DELETE /log-drains/{drain_id}": { tag: drains, operationId: "delete_log_drain", success: empty("Removed.") },
  "POST /log-drains/{drain_id}/test": {
    tag: drains,
    operationId: "test_log_drain",
    success: json(refTo("TestResult"), "How the test event was received."),
  },
};
