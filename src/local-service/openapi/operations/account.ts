import { empty, json, jsonBody, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { pageOf, refTo } from "../schema.ts";
import { TAGS } from "../tags.ts";

const date = { type: "string", description: "A date, or an instant, as ISO-8601." };

const CHUNKS = `The answer; or, with \`stream: true\`, an event stream of ChatCompletionChunk objects that ends with
\`data: [DONE]\`. A failure after the stream has begun is one last event with \`error\`.`;

export const accountOperations: Specs = {
  "GET /balance": { tag: TAGS.billing, operationId: "get_balance", success: json(refTo("Balance"), "The wallet.") },
  "GET /usage": {
    tag: TAGS.billing,
    operationId: "get_usage",
    query: { start: date, end: date, group_by: { type: "string", enum: ["total", "day", "model"], default: "total" } },
    success: json(refTo("Usage"), "Seven days when not said otherwise, ninety at most."),
    errors: ["INVALID_ARGUMENT"],
  },
  "POST /keys": {
    tag: TAGS.keys,
    operationId: "create_key",
    body: jsonBody(refTo("CreateKeyRequest"), false),
    success: json(refTo("CreatedApiKey"), "The key, with its credential.", 201),
  },
  "GET /keys": {
    tag: TAGS.keys,
    operationId: "list_keys",
    query: { ...PAGE_QUERY, workspace_id: { type: "string", description: "Your own; another one is refused." } },
    success: json(pageOf("ApiKey"), "A page of keys, newest first."),
  },
  "POST /keys/{key_id}/rotate": {
    tag: TAGS.keys,
    operationId: "rotate_key",
    body: jsonBody(refTo("RotateKeyRequest"), false),
    success: json(refTo("RotatedApiKey"), "The new credential."),
    errors: ["FAILED_PRECONDITION"],
  },
  "DELETE /keys/{key_id}": { tag: TAGS.keys, operationId: "revoke_key", success: empty("Revoked.") },
  "POST /tokens": {
    tag: TAGS.keys,
    operationId: "create_token",
    body: jsonBody(refTo("CreateTokenRequest"), false),
    success: json(refTo("Token"), "The token.", 201),
  },
  "POST /chat/completions": {
    tag: TAGS.chat,
    operationId: "create_chat_completion",
    body: jsonBody(refTo("ChatCompletionRequest")),
    success: {
      status: 200,
      description: CHUNKS,
      content: { "application/json": refTo("ChatCompletion") },
      stream: "ChatCompletionStream",
    },
    errors: ["INSUFFICIENT_BALANCE", "NOT_FOUND", "MODERATION_FAILED"],
  },
};
