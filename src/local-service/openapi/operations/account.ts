import { newKeyBody, newTokenBody, rotateBody } from "../../access/bodies.ts";
import { chatBody } from "../../chat/request.ts";
import { empty, json, jsonBody, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { bodyOf, pageOf, refTo } from "../schema.ts";

const date = { type: "string", description: "A date, or an instant, as ISO-8601." };

const CHUNKS = `The answer; or, with \`stream: true\`, an event stream of ChatChunk objects that ends with \`data: [DONE]\`. A failure
after the stream has begun is one last event with \`error\`.`;

export const accountOperations: Specs = {
  "GET /balance": { tag: "Money", operationId: "get_balance", success: json(refTo("Balance"), "The wallet.") },
  "GET /usage": {
    tag: "Money",
    operationId: "get_usage",
    query: { start: date, end: date, group_by: { type: "string", enum: ["total", "day", "model"], default: "total" } },
    success: json(refTo("Usage"), "Seven days when not said otherwise, ninety at most."),
    errors: ["INVALID_ARGUMENT"],
  },
  "POST /keys": {
    tag: "Access",
    operationId: "create_key",
    body: jsonBody(bodyOf(newKeyBody), false),
    success: json(refTo("NewKey"), "The key, with its credential.", 201),
  },
  "GET /keys": {
    tag: "Access",
    operationId: "list_keys",
    query: PAGE_QUERY,
    success: json(pageOf("Key"), "A page of keys, newest first."),
  },
  "POST /keys/{key_id}/rotate": {
    tag: "Access",
    operationId: "rotate_key",
    body: jsonBody(bodyOf(rotateBody), false),
    success: json(refTo("RotatedKey"), "The new credential."),
    errors: ["FAILED_PRECONDITION"],
  },
  "DELETE /keys/{key_id}": { tag: "Access", operationId: "revoke_key", success: empty("Revoked.") },
  "POST /tokens": {
    tag: "Access",
    operationId: "create_token",
    body: jsonBody(bodyOf(newTokenBody), false),
    success: json(refTo("Token"), "The token.", 201),
  },
  "POST /chat/completions": {
    tag: "Chat",
    operationId: "create_chat_completion",
    body: jsonBody(bodyOf(chatBody)),
    success: {
      status: 200,
      description: CHUNKS,
      content: { "application/json": refTo("ChatCompletion"), "text/event-stream": { type: "string" } },
    },
    errors: ["INSUFFICIENT_BALANCE", "NOT_FOUND", "MODERATION_FAILED"],
  },
};
