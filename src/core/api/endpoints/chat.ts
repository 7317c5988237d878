import { z } from "zod";
import { ShowrunnerError } from "../../kit/errors.ts";
import { ApiError, ConnectionError, readEnvelope } from "../errors.ts";
import { type CallOptions, decode, errorOf, type HttpContext, mayRepeat } from "../http/call.ts";
import type { Endpoints } from "../http/endpoints.ts";
import { withRetries } from "../retry.ts";
import { type OpenStream, openStream, readStream } from "../stream/stream.ts";
import { listOf, number, optional, optionalMicros, text, wire, withDefault } from "../wire.ts";

/** A chat request in the chat-completions format. Additional fields are sent unchanged. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

const chatUsage = wire({
  promptTokens: number,
  completionTokens: number,
  totalTokens: number,
  /** Cost in micro-dollars; null if the response does not contain it. */
  costMicros: optionalMicros.catch(null),
});
/** Token counts of a chat request. */
export type ChatUsage = z.output<typeof chatUsage>;

/** A language model's response. */
export interface ChatCompletion {
  /** The completion's id, which is also its job's id. */
  readonly id: string;
  readonly model: string | null;
  /** Text of the first choice; null if it has none. */
  readonly content: string | null;
  readonly finishReason: string | null;
  readonly usage: ChatUsage | null;
  /** Cost in micro-dollars; null if the response does not contain it. */
  readonly costMicros: number | null;
  /** The whole response, including additional fields. */
  readonly raw: Readonly<Record<string, unknown>>;
}

const completion = z
  .looseObject({
    id: z.string(),
    model: text,
    choices: listOf(z.object({ message: optional(z.object({ content: text })), finish_reason: text })),
    usage: optional(chatUsage),
    cost: optionalMicros.catch(null),
  })
  .transform(
    (answer): ChatCompletion => ({
      id: answer.id,
      model: answer.model,
      content: answer.choices[0]?.message?.content ?? null,
      finishReason: answer.choices[0]?.finish_reason ?? null,
      usage: answer.usage,
      costMicros: answer.cost ?? answer.usage?.costMicros ?? null,
      raw: answer,
    }),
  );

/**
 * Requests a chat completion. If the response is lost, the request is not repeated, because it may have been charged.
 */
export function chat(api: Endpoints, requested: ChatRequest, options?: CallOptions): Promise<ChatCompletion> {
  return api.post(completion, request.path, { ...requested, stream: false }, options, { requestClass: "chat" });
}

/** One piece of a streamed chat completion. */
export interface ChatChunk {
  /** The job's id; the same in every chunk. */
  readonly id: string | null;
  readonly model: string | null;
  /** Index of the choice that this chunk continues; 0 if only one was requested. */
  readonly choiceIndex: number;
  /** Text to append to the choice's content; empty if the chunk has no text. */
  readonly content: string;
  /** Why this choice ended; null except in its last chunk. */
  readonly finishReason: string | null;
  /** Token counts; null except in the last chunk. Request them with `stream_options: { include_usage: true }`. */
  readonly usage: ChatUsage | null;
  /** The whole chunk, including additional fields. */
  readonly raw: Readonly<Record<string, unknown>>;
}

const doneToken = "[DONE]";
const request = { method: "POST", path: "/chat/completions" } as const;

const choice = z.object({
  index: withDefault(z.number(), 0),
  delta: optional(z.object({ content: text })),
  finish_reason: text,
});

const chunk = z
  .looseObject({
    id: text,
    model: text,
    choices: listOf(choice),
    usage: optional(chatUsage),
    error: z.null().optional(),
  })
  .transform((wire): ChatChunk => {
    const [first] = wire.choices;
    return {
      id: wire.id,
      model: wire.model,
      choiceIndex: first?.index ?? 0,
      content: first?.delta?.content ?? "",
      finishReason: first?.finish_reason ?? null,
      usage: wire.usage,
      raw: wire,
    };
  });

/**
 * Streams a chat completion in chunks. If the stream breaks, the request is not repeated, because it may have been
 * charged.
 */
export async function* chatStream(
  context: HttpContext,
  requested: ChatRequest,
  options: CallOptions = {},
): AsyncGenerator<ChatChunk, void> {
  const opened = await openChat(context, requested, options);
  try {
    for await (const piece of readStream(opened)) {
      if (piece.kind === "retry") continue;
      if (piece.message.data === doneToken) return;
      yield readChunk(context.redactor.json(piece.message.data), piece.message.event, opened);
    }
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause instanceof ShowrunnerError) throw cause;
    throw errorOf(context, request, options, { kind: "lost", sent: true, timedOut: opened.timedOut(), cause });
  }
  throw new ConnectionError(
    "the stream of POST /chat/completions ended before its last chunk; the request may have been charged",
    {
      sent: true,
    },
  );
}

/** Opens the stream of a chat completion. Retries only if the request had no effect. */
function openChat(context: HttpContext, requested: ChatRequest, options: CallOptions): Promise<OpenStream> {
  const opening = { ...request, json: { ...requested, stream: true }, requestClass: "chat" } as const;
  return withRetries(context, options, async () => {
    const opened = await openStream(context, opening, options);
    if (opened.kind === "aborted") throw opened.reason;
    if (opened.kind === "open") return { value: opened };
    const error = errorOf(context, request, options, opened);
    return { error, mayRepeat: mayRepeat("unless-done", error) };
  });
}

function readChunk(body: unknown, event: string | undefined, { status }: OpenStream): ChatChunk {
  const failure = readEnvelope(body, status) ?? (event === "error" ? readEnvelope({ error: body }, status) : null);
  if (failure === null) return decode(chunk, body, request);
  throw new ApiError(failure.error, { ...request, status, envelope: true, traceId: failure.traceId });
}
