import { newKeyBody, newTokenBody, rotateBody } from "../../access/bodies.ts";
import { SCOPES } from "../../access/scopes.ts";
import type { JsonSchema } from "../../catalog/model.ts";
import { chatBody } from "../../chat/request.ts";
import { drainChanges, newDrainBody } from "../../drains/bodies.ts";
import { HTTP_STATUS } from "../../http/refusal.ts";
import { defaultWebhookBody } from "../../webhooks/bodies.ts";
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
  text,
  uri,
  usd,
  whole,
} from "../schema.ts";
import { submitBody } from "../submit.ts";
import { catalogComponents } from "./catalog.ts";
import { eventComponents } from "./events.ts";
import { jobComponents } from "./jobs.ts";
import { streamComponents } from "./streams.ts";

const scopes = listOf(oneOf(...SCOPES));
const kind = oneOf("personal", "service");
const key = { key_id: text, kind, name: orNull(text), scopes: orNull(scopes), workspace_id: text };

export const accountComponents = {
  Balance: object({ balance: dollars, currency: usd, spent: orNull(dollars) }),
  Usage: object({
    start: instant,
    end: instant,
    group_by: oneOf("total", "day", "model"),
    total_jobs: whole,
    total_spent: dollars,
    currency: usd,
    data: listOf(object({ key: text, jobs: whole, spent: dollars })),
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
    credential: { ...text, description: "Shown this once." },
    created_at: instant,
    expires_at: orNull(instant),
  }),
  RotatedApiKey: object({
    ...key,
    credential: { ...text, description: "Shown this once." },
    expires_at: orNull(instant),
    previous_secret_expires_at: instant,
  }),
  Token: object({ token: text, expires_at: instant, scopes, workspace_id: text }),
};

const finish = oneOf("stop", "length");
const head = { id: { ...id("job"), description: "Also the job's id." }, created: whole, model: text };

export const chatComponents = {
  ChatCompletionUsage: object({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole }),
  ChatCompletion: object({
    ...head,
    object: exactly("chat.completion"),
    choices: listOf(
      object({
        index: whole,
        message: object({ role: exactly("assistant"), content: text, refusal: orNull(text) }),
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
          delta: object({}, { role: exactly("assistant"), content: text }),
          logprobs: orNull(anyFields),
          finish_reason: orNull(finish),
        }),
      ),
    },
    { usage: orNull(refTo("ChatCompletionUsage")) },
  ),
  ChatCompletionError: object({ error: refTo("ErrorObject") }),
};

const anyInput = { ...anyFields, description: "As the model's input_schema says." };

/** Request schemas. */
export const requestComponents = {
  SubmitJobRequest: submitBody(anyInput),
  EstimateJobRequest: object({ input: anyInput }),
  CreateKeyRequest: bodyOf(newKeyBody),
  RotateKeyRequest: bodyOf(rotateBody),
  CreateTokenRequest: bodyOf(newTokenBody),
  SetDefaultWebhookRequest: bodyOf(defaultWebhookBody),
  CreateLogDrainRequest: bodyOf(newDrainBody),
  UpdateLogDrainRequest: bodyOf(drainChanges),
  ChatCompletionRequest: bodyOf(chatBody),
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

/** All schemas of requests and responses. Clients must tolerate additional fields. */
export const COMPONENTS: Readonly<Record<string, JsonSchema>> = {
  ...jobComponents,
  ...streamComponents,
  ...catalogComponents,
  ...accountComponents,
  ...eventComponents,
  ...chatComponents,
  ...errorComponents,
  ...requestComponents,
  ...pages("ModelSummary", "Voice", "JobSummary", "LogEvent", "ApiKey", "WebhookDelivery", "LogDrain"),
};
