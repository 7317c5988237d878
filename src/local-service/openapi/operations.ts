import type { ErrorCode } from "../http/refusal.ts";
import {
  empty,
  exactly,
  json,
  jsonBody,
  type OperationSpec,
  object,
  PAGE_QUERY,
  pageOf,
  refTo,
  type Specs,
  type Success,
  TAGS,
  text,
} from "./operation.ts";

const row = (
  tag: keyof typeof TAGS,
  operationId: string,
  success: Success,
  more: Omit<OperationSpec, "tag" | "operationId" | "success"> = {},
): OperationSpec => ({ tag: TAGS[tag].name, operationId, success, ...more });

const one = (component: string, description: string, status?: 200 | 201) => json(refTo(component), description, status);
const list = (component: string, description: string) => json(pageOf(component), description);
const request = (component: string, required = true) => ({ body: jsonBody(refTo(component), required) });
const paged = { query: PAGE_QUERY };

const FILE = object({ file: { ...text, contentMediaType: "application/octet-stream" } });
const LOGS_AFTER =
  "A cursor, or `start` to begin with the first event. Without this parameter, no events are returned.";
const JOB_STREAM = `Frames: \`status\` (a JobStatus), \`log\` (a LogEvent), and \`done\`, whose data is [STREAM_DONE]. Send the id of the
last frame as Last-Event-ID to continue after it. A stream that ends without done was interrupted: connect again.`;
const CHUNKS = `The answer; with \`stream: true\`, an event stream of ChatCompletionChunk objects that ends with
\`data: [DONE]\`. If an error occurs after the stream has started, the last event has an \`error\` field.`;

const EVENTS = `The answer; with \`stream: true\`, an event stream from \`response.created\` to \`response.completed\` or
\`response.incomplete\`. If an error occurs after the stream has started, the last event is \`error\`.`;

const date = { ...text, description: "An ISO 8601 date, with or without a time." };
const groups = { ...text, enum: ["total", "day", "model"], default: "total" };
const unavailable = { errors: ["GONE", "FAILED_PRECONDITION"] } as const;
const deleted = empty("The job is deleted. Repeating the request also succeeds.");
const tested = one("TestResult", "The response to the test event.");

export const SUBMIT_SUCCESS: Success = {
  status: 202,
  description: "The job was accepted.",
  content: { "application/json": refTo("JobAcknowledgement") },
  headers: {
    Location: { description: "The value of result_url.", required: true, schema: text },
    "X-Idempotent-Replayed": { description: "Sent if the idempotency key was used before.", schema: exactly("true") },
  },
};

export const SUBMIT_ERRORS: readonly ErrorCode[] = [
  "INVALID_ARGUMENT",
  "INSUFFICIENT_BALANCE",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "GONE",
  "MODERATION_FAILED",
];

export const API_SPECS: Specs = {
  "GET /models": row("models", "list_models", list("ModelSummary", "All models, on one page."), {
    query: { modality: { ...text, enum: ["image", "video", "audio"] } },
    errors: ["INVALID_ARGUMENT"],
  }),
  "GET /models/{model}": row("models", "get_model", one("Model", "The model."), unavailable),
  "GET /models/{model}/openapi.json": row(
    "models",
    "get_model_openapi",
    one("ApiDocument", "The model's submit operation, as OpenAPI 3.1."),
    unavailable,
  ),
  "POST /models/{model}/estimate": row("models", "estimate_job", one("Estimate", "What a job would cost."), {
    ...request("EstimateJobRequest"),
    errors: ["GONE", "MODERATION_FAILED"],
  }),
  "GET /models/{model}/jobs": row(
    "models",
    "list_model_jobs",
    list("JobSummary", "A page of the model's jobs, newest first; also available for retired models."),
    paged,
  ),
  "GET /models/{model}/voices": row("models", "list_model_voices", list("Voice", "Stock voices, then your voices."), {
    ...paged,
    ...unavailable,
  }),
  "GET /models/{model}/voices/search": row(
    "models",
    "search_model_voices",
    list("Voice", "Best matches first, on one page."),
    {
      query: {
        q: { ...text, minLength: 1, maxLength: 200, description: "A name, part of a name, or words from the labels." },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 20 },
        gender: { ...text, enum: ["male", "female"] },
        language: { ...text, maxLength: 8, description: "Two-letter code." },
      },
      requiredQuery: ["q"],
      ...unavailable,
    },
  ),
  "POST /models/{model}": row("models", "submit_job", SUBMIT_SUCCESS, {
    ...request("SubmitJobRequest"),
    errors: SUBMIT_ERRORS,
  }),
  "POST /files": row("files", "upload_file", one("UploadedFile", "The handle to pass as a media input.", 201), {
    body: { mediaType: "multipart/form-data", schema: FILE },
    errors: ["INSUFFICIENT_BALANCE"],
  }),
  "GET /openapi.json": row("openapi", "get_openapi", one("ApiDocument", "This document.")),

  "GET /jobs": row("jobs", "list_jobs", list("JobSummary", "A page of jobs, newest first."), paged),
  "GET /jobs/{job_id}": row("jobs", "get_job", one("Job", "The job.")),
  "DELETE /jobs/{job_id}": row("jobs", "delete_job", deleted, {
    errors: ["INVALID_ARGUMENT", "ALREADY_IN_PROGRESS", "UNAVAILABLE"],
  }),
  "GET /jobs/{job_id}/status": row("jobs", "get_job_status", one("JobStatus", "The status."), {
    query: { logs_after: { ...text, description: LOGS_AFTER } },
  }),
  "GET /jobs/{job_id}/logs": row("jobs", "list_job_logs", list("LogEvent", "A page of events, oldest first."), paged),
  "GET /jobs/{job_id}/stream": row(
    "jobs",
    "stream_job",
    { status: 200, description: JOB_STREAM, stream: "JobStream" },
    { headers: { "Last-Event-ID": { ...text, description: "The id of the last frame received." } } },
  ),

  "GET /balance": row("billing", "get_balance", one("Balance", "The wallet.")),
  "GET /usage": row(
    "billing",
    "get_usage",
    one("Usage", "Usage in a period of up to 90 days; by default, the last seven days."),
    {
      query: { start: date, end: date, group_by: groups },
      errors: ["INVALID_ARGUMENT"],
    },
  ),
  "GET /usage/llm": row(
    "billing",
    "list_llm_requests",
    list("LlmRequest", "A page of requests, newest first; a cursor is valid only with the same filters."),
    { query: { ...PAGE_QUERY, start: date, end: date, model: text, key_id: text } },
  ),
  "GET /transactions": row(
    "billing",
    "list_transactions",
    list("Transaction", "A page of wallet transactions, newest first."),
    paged,
  ),
  "POST /keys": row(
    "keys",
    "create_key",
    one("CreatedApiKey", "The key, with its credential.", 201),
    request("CreateKeyRequest", false),
  ),
  "GET /keys": row("keys", "list_keys", list("ApiKey", "A page of keys, newest first."), {
    query: {
      ...PAGE_QUERY,
      workspace_id: { ...text, description: "Id of your own workspace; any other id is refused." },
    },
  }),
  "POST /keys/{key_id}/rotate": row("keys", "rotate_key", one("RotatedApiKey", "The new credential."), {
    ...request("RotateKeyRequest", false),
    errors: ["FAILED_PRECONDITION"],
  }),
  "DELETE /keys/{key_id}": row("keys", "revoke_key", empty("Revoked.")),
  "POST /tokens": row("keys", "create_token", one("Token", "The token.", 201), request("CreateTokenRequest", false)),
  "POST /chat/completions": row(
    "chat",
    "create_chat_completion",
    { ...one("ChatCompletion", CHUNKS), stream: "ChatCompletionStream" },
    { ...request("ChatCompletionRequest"), errors: ["INSUFFICIENT_BALANCE", "NOT_FOUND", "MODERATION_FAILED"] },
  ),

  "POST /responses": row(
    "chat",
    "create_response",
    { ...one("ModelResponse", EVENTS), stream: "ResponseStream" },
    { ...request("CreateResponseRequest"), errors: ["INSUFFICIENT_BALANCE", "NOT_FOUND", "MODERATION_FAILED"] },
  ),

  "GET /webhooks/public-key": row(
    "webhooks",
    "get_webhook_public_key",
    one("WebhookPublicKey", "The key for verifying signatures."),
  ),
  "GET /webhooks/default": row(
    "webhooks",
    "get_webhook_default",
    one("DefaultWebhook", "The default webhook; its url is null if none is set."),
  ),
  "PUT /webhooks/default": row(
    "webhooks",
    "set_webhook_default",
    one("DefaultWebhook", "The updated default webhook."),
    request("SetDefaultWebhookRequest"),
  ),
  "DELETE /webhooks/default": row("webhooks", "delete_webhook_default", empty("Removed.")),
  "POST /webhooks/default/test": row("webhooks", "test_webhook_default", tested, { errors: ["NOT_FOUND"] }),
  "GET /webhooks/deliveries": row(
    "webhooks",
    "list_webhook_deliveries",
    list("WebhookDelivery", "A page of deliveries, newest first."),
    paged,
  ),
  "POST /webhooks/deliveries/{job_id}/redeliver": row(
    "webhooks",
    "redeliver_webhook",
    one("WebhookDelivery", "The delivery, which is pending again."),
    { errors: ["ALREADY_IN_PROGRESS"] },
  ),
  "GET /log-drains": row("drains", "list_log_drains", list("LogDrain", "A page of drains, newest first."), paged),
  "POST /log-drains": row("drains", "create_log_drain", one("LogDrain", "The drain.", 201), {
    ...request("CreateLogDrainRequest"),
    errors: ["FAILED_PRECONDITION"],
  }),
  "GET /log-drains/{drain_id}": row("drains", "get_log_drain", one("LogDrain", "The drain.")),
  "PATCH /log-drains/{drain_id}": row(
    "drains",
    "update_log_drain",
    one("LogDrain", "The updated drain."),
    request("UpdateLogDrainRequest"),
  ),
  "DELETE /log-drains/{drain_id}": row("drains", "delete_log_drain", empty("Removed.")),
  "POST /log-drains/{drain_id}/test": row("drains", "test_log_drain", tested),
};
