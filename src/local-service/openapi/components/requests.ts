import { newKeyBody, newTokenBody, rotateBody } from "../../access/bodies.ts";
import { chatBody } from "../../chat/request.ts";
import { drainChanges, newDrainBody } from "../../drains/bodies.ts";
import { defaultWebhookBody } from "../../webhooks/bodies.ts";
import { anyFields, bodyOf, object } from "../schema.ts";
import { submitBody } from "../submit.ts";

const anyInput = { ...anyFields, description: "As the model's input_schema says." };

/** What is sent to the service. */
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
