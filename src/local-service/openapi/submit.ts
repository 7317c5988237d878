import type { JsonSchema } from "../catalog/model.ts";
import type { ErrorCode } from "../http/refusal.ts";
import { MAX_URL_LENGTH } from "../outbound/http-url.ts";
import type { Success } from "./operation-spec.ts";
import { exactly, object, orNull, refTo, text, uri } from "./schema.ts";

/** The body of a submit, around a model's input. */
export function submitBody(input: JsonSchema): JsonSchema {
  return object(
    { input },
    {
      webhook: {
        ...orNull({ ...uri, maxLength: MAX_URL_LENGTH }),
        description: "Where the signed event of the job's end goes.",
      },
      idempotency_key: {
        ...orNull({ ...text, minLength: 1, maxLength: 1024 }),
        description: "A retried submit with the same key replays the original acknowledgement.",
      },
    },
  );
}

export const SUBMIT_SUCCESS: Success = {
  status: 202,
  description: "The job was accepted.",
  content: { "application/json": refTo("JobAcknowledgement") },
  headers: {
    Location: { description: "The same as result_url.", required: true, schema: text },
    "X-Idempotent-Replayed": { description: "Sent when the idempotency key was known.", schema: exactly("true") },
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
