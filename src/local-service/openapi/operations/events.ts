import { drainChanges, newDrainBody } from "../../drains/bodies.ts";
import { defaultWebhookBody } from "../../webhooks/bodies.ts";
import { empty, json, jsonBody, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { bodyOf, pageOf, refTo } from "../schema.ts";

const webhooks = "Webhooks";
const drains = "Log drains";

export const eventOperations: Specs = {
  "GET /webhooks/public-key": {
    tag: webhooks,
    operationId: "get_webhook_public_key",
    success: json(refTo("PublicKey"), "The key that signatures are checked with."),
  },
  "GET /webhooks/default": {
    tag: webhooks,
    operationId: "get_default_webhook",
    success: json(refTo("DefaultWebhook"), "The default webhook; its url is null when none is set."),
  },
  "PUT /webhooks/default": {
    tag: webhooks,
    operationId: "set_default_webhook",
    body: jsonBody(bodyOf(defaultWebhookBody)),
    success: json(refTo("DefaultWebhook"), "The default webhook, as set."),
  },
  "DELETE /webhooks/default": {
    tag: webhooks,
    operationId: "delete_default_webhook",
    success: empty("There is none."),
  },
  "POST /webhooks/default/test": {
    tag: webhooks,
    operationId: "test_default_webhook",
    success: json(refTo("TestResult"), "How the test event was received."),
    errors: ["NOT_FOUND"],
  },
  "GET /webhooks/deliveries": {
    tag: webhooks,
    operationId: "list_deliveries",
    query: PAGE_QUERY,
    success: json(pageOf("Delivery"), "A page of deliveries, newest first."),
  },
  "POST /webhooks/deliveries/{job_id}/redeliver": {
    tag: webhooks,
    operationId: "redeliver",
    success: json(refTo("Delivery"), "The delivery, pending again."),
    errors: ["ALREADY_IN_PROGRESS"],
  },
  "GET /log-drains": {
    tag: drains,
    operationId: "list_drains",
    query: PAGE_QUERY,
    success: json(pageOf("Drain"), "A page of drains, newest first."),
  },
  "POST /log-drains": {
    tag: drains,
    operationId: "create_drain",
    body: jsonBody(bodyOf(newDrainBody)),
    success: json(refTo("Drain"), "The drain.", 201),
    errors: ["FAILED_PRECONDITION"],
  },
  "GET /log-drains/{drain_id}": { tag: drains, operationId: "get_drain", success: json(refTo("Drain"), "The drain.") },
  "PATCH /log-drains/{drain_id}": {
    tag: drains,
    operationId: "change_drain",
    body: jsonBody(bodyOf(drainChanges)),
    success: json(refTo("Drain"), "The drain, as changed."),
  },
  "DELETE /log-drains/{drain_id}": { tag: drains, operationId: "delete_drain", success: empty("Removed.") },
  "POST /log-drains/{drain_id}/test": {
    tag: drains,
    operationId: "test_drain",
    success: json(refTo("TestResult"), "How the test event was received."),
  },
};
