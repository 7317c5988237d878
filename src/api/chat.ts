import { z } from "zod";
import type { CallOptions, HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import { integer, listOf, optional, text } from "./wire/lenient.ts";

/** A chat-completions request in the common form; unlisted fields are sent as they are. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

export interface ChatUsage {
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly totalTokens: number | null;
}

export interface ChatCompletion {
  /** Also the id of the job; it has no outputs and sends no webhook. */
  readonly id: string;
  readonly model: string | null;
  /** Text of the first choice, or null. */
  readonly content: string | null;
  readonly finishReason: string | null;
  readonly usage: ChatUsage | null;
  /** The whole answer, for what is not listed here. */
  readonly raw: Readonly<Record<string, unknown>>;
}

const choice = z.object({ message: optional(z.object({ content: text })), finish_reason: text });

export const chatUsage = z
  .object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer })
  .transform(
    (wire): ChatUsage => ({
      promptTokens: wire.prompt_tokens,
      completionTokens: wire.completion_tokens,
      totalTokens: wire.total_tokens,
    }),
  );

const completion = z
  .looseObject({ id: z.string(), model: text, choices: listOf(choice), usage: optional(chatUsage) })
  .transform(
    (wire): ChatCompletion => ({
      id: wire.id,
      model: wire.model,
      content: wire.choices[0]?.message?.content ?? null,
      finishReason: wire.choices[0]?.finish_reason ?? null,
      usage: wire.usage,
      raw: wire,
    }),
  );

/**
 * One chat completion, not streamed. It is paid and has no idempotency key, so a lost answer is never sent again: it
 * throws ConnectionError or TimeoutError with `sent: true`, and the charge may have happened.
 */
export function chat(context: HttpContext, requested: ChatRequest, options?: CallOptions): Promise<ChatCompletion> {
  const request = apiRequest("POST", "/chat/completions", {
    json: { ...requested, stream: false },
    requestClass: "chat",
    repeat: "unless-done",
  });
  return fetchAs(context, completion, request, options);
}
