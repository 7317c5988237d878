import { SCOPES } from "../access/authenticate.ts";
import type { JsonSchema } from "../catalog/model.ts";
import { chatBody } from "../chat/request.ts";
import { responsesBody } from "../chat/responses.ts";
import { HTTP_STATUS } from "../http/refusal.ts";
import type { UnquotableCost } from "../options.ts";
import {
  defaultWebhookBody,
  drainChanges,
  newDrainBody,
  newKeyBody,
  newTokenBody,
  rotateBody,
} from "../request-bodies.ts";
import {
  anyFields,
  bodyOf,
  dollars,
  exactly,
  flag,
  id,
  instant,
  listOf,
  object,
  oneOf,
  orNull,
  pages,
  refTo,
  submitRequest,
  text,
  uri,
  usd,
  whole,
} from "./operation.ts";
import { jobComponents, streamComponents } from "./webhooks.ts";

const WHEN_UNQUOTABLE = { null: "null", zero: "0", omit: "absent" } as const;

const modality = oneOf("image", "video", "audio", "text");
const summary = {
  id: text,
  modality,
  name: orNull(text),
  description: orNull(text),
  price_description: text,
  logo_url: orNull(text),
};

const price = { type: "number", minimum: 0, description: "US dollars." };
const chat = {
  context_length: whole,
  max_output_tokens: whole,
  default_max_tokens: whole,
  pricing: object({ usd_per_1m_input_tokens: price, usd_per_1m_output_tokens: price }),
  input_modalities: listOf(text),
  max_images_per_request: orNull(whole),
};

export const catalogComponents = {
  ModelSummary: object(summary, chat),
  Model: object(
    { ...summary, input_schema: { ...anyFields, description: "For a language model: the body of a chat request." } },
    { ...chat, output_schema: { ...anyFields, description: "Not present for a language model." } },
  ),
  Voice: object({
    id: { type: "string", pattern: "^voice_" },
    name: text,
    preview_url: orNull(uri),
    labels: { type: "object", additionalProperties: text },
  }),
  UploadedFile: object({ url: uri, content_type: text, expires_at: instant }),
  ApiDocument: {
    type: "object",
    required: ["openapi", "info", "paths"],
    properties: { openapi: { type: "string", pattern: "^3\\.1\\." } },
    additionalProperties: true,
  },
};

export function estimateComponent(unquotable: UnquotableCost): JsonSchema {
  if (unquotable === "refuse") return object({ model: text, cost: dollars, currency: usd });
  const description = `While the cost is unknown, \`quotable\` is false and \`cost\` is ${WHEN_UNQUOTABLE[unquotable]}.`;
  const cost = { ...(unquotable === "null" ? orNull(dollars) : dollars), description };
  const unquoted = { quotable: exactly(false), reason: text };
  return unquotable === "omit"
    ? object({ model: text, currency: usd }, { cost, ...unquoted })
    : object({ model: text, cost, currency: usd }, unquoted);
}

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
  TopOffFailedEvent: object({
    id: { type: "string", pattern: "^evt_" },
    type: exactly("billing.top_off_failed"),
    created_at: instant,
    reason: text,
    amount_attempted: dollars,
    balance: dollars,
    currency: usd,
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

const scopes = listOf(oneOf(...SCOPES));
const kind = oneOf("personal", "service");
const key = { key_id: text, kind, name: orNull(text), scopes: orNull(scopes), workspace_id: text };

export const accountComponents = {
  Balance: object({ balance: dollars, currency: usd, spent: orNull(dollars) }),
  Usage: object(
    {
      start: instant,
      end: instant,
      group_by: oneOf("total", "day", "model"),
      total_jobs: whole,
      total_spent: dollars,
      currency: usd,
      data: listOf(object({ key: text, jobs: whole, spent: dollars }, { requests: whole })),
    },
    { total_requests: whole },
  ),
  Transaction: object({
    id: text,
    kind: { ...text, description: "purchase, grant, usage, refund, adjustment or other; more kinds may be added." },
    amount: { ...orNull(dollars), description: "US dollars; negative for a charge." },
    currency: orNull(usd),
    created_at: instant,
  }),
  LlmRequest: object({
    id: { ...text, description: "The response's X-Request-Id header." },
    model: text,
    status: oneOf("pending", "ok", "upstream_error", "client_abort", "timeout", "settlement_failed"),
    streamed: flag,
    prompt_tokens: orNull(whole),
    completion_tokens: orNull(whole),
    reasoning_tokens: orNull(whole),
    usage_estimated: flag,
    cost: orNull(dollars),
    currency: orNull(usd),
    ttft_ms: orNull(whole),
    duration_ms: orNull(whole),
    key_id: orNull(text),
    completion_id: orNull(text),
    created_at: instant,
    settled_at: orNull(instant),
  }),
  ApiKey: object({
    ...key,
    status: oneOf("active", "revoked", "expired"),
    created_at: instant,
    expires_at: orNull(instant),
    revoked_at: orNull(instant),
    last_used_at: orNull(instant),
  }),
  CreatedApiKey: object({
    ...key,
    credential: { ...text, description: "Shown only once." },
    created_at: instant,
    expires_at: orNull(instant),
  }),
  RotatedApiKey: object({
    ...key,
    credential: { ...text, description: "Shown only once." },
    expires_at: orNull(instant),
    previous_secret_expires_at: instant,
  }),
  Token: object({ token: text, expires_at: instant }, { scopes, workspace_id: text }),
};

const finish = oneOf("stop", "length", "tool_calls");
const head = { id: { ...id("job"), description: "The id of the job." }, created: whole, model: text };

const called = (...required: readonly ("id" | "type")[]) => {
  const fields = { id: text, type: exactly("function") };
  const always = Object.fromEntries(required.map((name) => [name, fields[name]]));
  return object({ ...always, function: object({ arguments: text }, { name: text }) }, { ...fields, index: whole });
};
const open = (schema: JsonSchema): JsonSchema => ({ ...schema, additionalProperties: true });
const calls = { tool_calls: listOf(called("id", "type")) };
const reasoning = { reasoning_content: text };

export const chatComponents = {
  ChatCompletionUsage: object(
    { prompt_tokens: whole, completion_tokens: whole, total_tokens: whole },
    { completion_tokens_details: object({ reasoning_tokens: whole }) },
  ),
  ChatCompletion: object({
    ...head,
    object: exactly("chat.completion"),
    choices: listOf(
      object({
        index: whole,
        message: object(
          { role: exactly("assistant"), content: orNull(text), refusal: orNull(text) },
          { ...reasoning, ...calls },
        ),
        logprobs: orNull(anyFields),
        finish_reason: finish,
      }),
    ),
    usage: refTo("ChatCompletionUsage"),
  }),
  ChatCompletionChunk: object(
    {
      ...head,
      object: exactly("chat.completion.chunk"),
      choices: listOf(
        object({
          index: whole,
          delta: object(
            {},
            { role: exactly("assistant"), content: orNull(text), ...reasoning, tool_calls: listOf(called()) },
          ),
          logprobs: orNull(anyFields),
          finish_reason: orNull(finish),
        }),
      ),
    },
    { usage: orNull(refTo("ChatCompletionUsage")) },
  ),
  ChatCompletionError: object({ error: refTo("ErrorObject") }),
  ModelResponse: open(
    object({
      id: { ...id("job"), description: "The id of the job." },
      object: exactly("response"),
      created_at: whole,
      model: text,
      status: oneOf("in_progress", "completed", "incomplete"),
      incomplete_details: orNull(object({ reason: text })),
      output: listOf(refTo("ResponseItem")),
      usage: orNull(open(object({ input_tokens: whole, output_tokens: whole, total_tokens: whole }))),
    }),
  ),
  ResponseItem: object(
    { id: text, type: oneOf("reasoning", "message", "function_call") },
    {
      status: text,
      role: exactly("assistant"),
      content: listOf(anyFields),
      summary: listOf(anyFields),
      ...{ call_id: text, name: text, namespace: text, arguments: text },
    },
  ),
  ResponseEvent: open(object({ type: text, sequence_number: whole })),
};

const anyInput = { ...anyFields, description: "Matches the model's input_schema." };

function responsesRequest(): JsonSchema {
  const { properties, ...body } = bodyOf(responsesBody);
  const { input, ...rest } = properties as Readonly<Record<string, JsonSchema>>;
  return { ...body, properties: { ...rest, input: { anyOf: [text, input] } } };
}

export const requestComponents = {
  SubmitJobRequest: submitRequest(anyInput),
  EstimateJobRequest: object({ input: anyInput }),
  CreateKeyRequest: bodyOf(newKeyBody),
  RotateKeyRequest: bodyOf(rotateBody),
  CreateTokenRequest: bodyOf(newTokenBody),
  SetDefaultWebhookRequest: bodyOf(defaultWebhookBody),
  CreateLogDrainRequest: bodyOf(newDrainBody),
  UpdateLogDrainRequest: bodyOf(drainChanges),
  ChatCompletionRequest: bodyOf(chatBody),
  CreateResponseRequest: responsesRequest(),
};

const code = oneOf(...Object.keys(HTTP_STATUS));

export const errorComponents = {
  ErrorDetail: object({ field: text, message: text }, { reason: orNull(text), allowed: orNull(listOf(text)) }),
  ErrorBilling: object(
    { balance: dollars, funding_url: uri },
    { required: orNull(dollars), currency: usd, reason: orNull(text) },
  ),
  ErrorObject: object(
    { code, message: text },
    {
      type: { ...text, description: "For language models: the kind of error." },
      retryable: { ...flag, default: false },
      retry_after: { ...orNull(whole), description: "Seconds." },
      param: orNull(text),
      details: orNull(listOf(refTo("ErrorDetail"))),
      replaced_by: orNull(text),
      billing: orNull(refTo("ErrorBilling")),
    },
  ),
  ErrorResponse: object(
    { error: refTo("ErrorObject") },
    { trace_id: { type: ["string", "null"], pattern: "^[0-9a-f]{32}$" } },
  ),
};

export const COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  ...jobComponents,
  ...streamComponents,
  ...catalogComponents,
  ...accountComponents,
  ...eventComponents,
  ...chatComponents,
  ...errorComponents,
  ...requestComponents,
  ...pages(
    "LlmRequest",
    "Transaction",
    "ModelSummary",
    "Voice",
    "JobSummary",
    "LogEvent",
    "ApiKey",
    "WebhookDelivery",
    "LogDrain",
  ),
};
