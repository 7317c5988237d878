import { z } from "zod";
import { ShowrunnerError } from "../errors.ts";
import { type ChatRequest, type ChatUsage, chatUsage } from "./chat.ts";
import { sleep } from "./clock.ts";
import { ApiError } from "./errors/api-error.ts";
import { ConnectionError } from "./errors/client-errors.ts";
import { answerError } from "./http/answer-error.ts";
import { type CallOptions, decode, type HttpContext } from "./http/call.ts";
import { backoffMs } from "./http/retry.ts";
import { lostError } from "./http/transport-failure.ts";
import { type OpenedStream, openStream, readStream, readText } from "./stream/connection.ts";
import { listOf, optional, record, text, withDefault } from "./wire/lenient.ts";
import { errorEnvelope } from "./wire/service-error.ts";

/** One piece of a streamed chat completion. */
export interface ChatChunk {
  /** The job's id, the same in every chunk. */
  readonly id: string | null;
  readonly model: string | null;
  /** Which of several answers this piece belongs to; 0 where only one was requested. */
  readonly choiceIndex: number;
  /** Text to append, empty where the chunk has none. */
  readonly content: string;
  /** Why this answer ended, in its last chunk; else null. */
  readonly finishReason: string | null;
  /** In the last chunk, when `stream_options: { include_usage: true }` was asked for. */
  readonly usage: ChatUsage | null;
  /** The whole chunk, for what is not listed here. */
  readonly raw: Readonly<Record<string, unknown>>;
}

type Answer = Extract<OpenedStream, { kind: "answer" }>;

/** Data of the last event; it is no JSON. */
const doneToken = "[DONE]";
const request = { method: "POST", path: "/chat/completions" } as const;

const choice = z.object({
  index: withDefault(z.number(), 0),
  delta: optional(z.object({ content: text })),
  finish_reason: text,
});

const chunk = z
  .looseObject({ id: text, model: text, choices: listOf(choice), usage: optional(chatUsage) })
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

const failed = z.looseObject({ error: record.refine((error) => error !== null) });

/**
 * One chat completion, piece by piece; `timeoutMs` bounds the silence between pieces. It is paid and has no key, so
 * once the request left it is never sent again. Throws ApiError for a refusal, and for an error that ends a stream
 * already begun (then `status` is 200); ConnectionError or TimeoutError with `sent: true` when it breaks off before its
 * end, and the charge may have happened.
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
      yield readChunk(context.redactor.json(piece.message.data), opened);
    }
  } catch (cause) {
    options.signal?.throwIfAborted();
    if (cause instanceof ShowrunnerError) throw cause;
    throw lost(context, options, { sent: true, timedOut: opened.timedOut(), cause });
  }
  throw new ConnectionError("POST /chat/completions ended before its last chunk; the charge may have happened", {
    sent: true,
  });
}

/** Repeats only requests without effect: rate-limited, service unavailable, connection never made. */
async function openChat(context: HttpContext, requested: ChatRequest, options: CallOptions): Promise<Answer> {
  const startedAt = context.clock.now();
  for (let failures = 1; ; ) {
    const opened = await openStream(context, {
      ...request,
      json: { ...requested, stream: true },
      requestClass: "chat",
      signal: options.signal,
      priority: options.priority ?? 0,
      idleMs: options.timeoutMs ?? context.timeoutMs,
    });
    if (opened.kind === "aborted") throw opened.reason;
    if (opened.kind === "answer" && opened.status === 200) return opened;
    const error = opened.kind === "lost" ? lost(context, options, opened) : await refusal(context, opened);
    const outOfTime = context.clock.now() - startedAt >= context.retry.maxElapsedMs;
    if (outOfTime || failures >= context.retry.maxAttempts || !didNothing(error)) throw error;
    // The pacer waits for the limit.
    if (error instanceof ApiError && error.status === 429) continue;
    const waitMs = backoffMs(
      context.retry,
      failures++,
      error instanceof ApiError ? error.retryAfterMs : null,
      context.random(),
    );
    await sleep(context.clock, waitMs, options.signal);
  }
}

async function refusal(context: HttpContext, opened: Answer): Promise<ApiError> {
  const body = context.redactor.json(await readText(opened).catch(() => ""));
  return answerError({ ...opened, body }, request, context.clock);
}

function didNothing(error: ApiError | ReturnType<typeof lostError>): boolean {
  if (!(error instanceof ApiError)) return !error.sent;
  return error.status === 429 || (error.status === 503 && error.envelope && error.retryable);
}

function readChunk(body: unknown, opened: Answer): ChatChunk {
  if (failed.safeParse(body).success) {
    const { error, trace_id: traceId } = decode(errorEnvelope, body, request);
    throw new ApiError(error, { ...request, status: opened.status, envelope: true, traceId });
  }
  return decode(chunk, body, request);
}

function lost(
  context: HttpContext,
  options: CallOptions,
  how: { readonly sent: boolean; readonly timedOut: boolean; readonly cause: unknown },
) {
  const timeoutMs = options.timeoutMs ?? context.timeoutMs;
  return lostError({ kind: "lost", ...how }, { ...request, origin: context.base.origin, timeoutMs });
}
