import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../clock/clock.ts";
import type { StreamFault } from "../faults/engine.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../http/call.ts";
import { type ErrorBody, Refusal, refuseForNow } from "../http/refusal.ts";
import type { ServiceContext } from "../service-context.ts";
import { moderateTexts } from "../validate/problems.ts";
import { type ChatJob, type Composed, chatJobs, chatModel, compose, type Usage } from "./chat-job.ts";
import { type ChatRequest, modelNamed, readChatRequest } from "./request.ts";

/** Fields shared by the answer and all its chunks. */
export interface CompletionHead {
  /** The job's id. */
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/** The complete answer. */
export function completion(head: CompletionHead, { choices, usage }: Composed) {
  return {
    ...head,
    object: "chat.completion",
    choices: choices.map(({ tokens, finishReason }, index) => ({
      index,
      message: { role: "assistant", content: tokens.join(""), refusal: null },
      logprobs: null,
      finish_reason: finishReason,
    })),
    usage,
  };
}

interface Delta {
  readonly role?: "assistant";
  readonly content?: string;
}

/** Builds the chunks of a stream; `includeUsage` adds a null usage to each, and the actual usage to the last one. */
export function chunkWriter(head: CompletionHead, includeUsage: boolean) {
  const base = { ...head, object: "chat.completion.chunk" };
  const usage = includeUsage ? { usage: null } : {};
  const frame = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
  const choice = (index: number, delta: Delta, finish_reason: string | null) =>
    frame({ ...base, choices: [{ index, delta, logprobs: null, finish_reason }], ...usage });
  return {
    first: (index: number) => choice(index, { role: "assistant", content: "" }, null),
    token: (index: number, content: string) => choice(index, { content }, null),
    last: (index: number, finishReason: string) => choice(index, {}, finishReason),
    usage: (total: Usage) => (includeUsage ? frame({ ...base, choices: [], usage: total }) : ""),
    error: (error: ErrorBody) => frame({ error }),
  };
}

export const STREAM_END = "data: [DONE]\n\n";

/** Resolves when the service's clock reaches the instant; at once when it has passed. */
export function until(clock: Clock, dueMs: number): Promise<void> {
  if (dueMs <= clock.now()) return Promise.resolve();
  return new Promise((resolve) => void clock.at(dueMs, resolve));
}

const HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store" };

/** Where a stream's frames are written. After the reader disconnects, writes are no-ops. */
export interface Sink {
  /** Resolves when the buffer has capacity again. */
  send(frame: string): Promise<void>;
  /** Writes at once, bypassing injected delays and cuts. */
  comment(text: string): void;
  end(last?: string): void;
}

/** Opens the answer as an event stream; faults may delay it or cut it after some frames. */
export function openSink({ outgoing, standardHeaders }: Call, fault: StreamFault | null): Sink {
  let isOpen = true;
  let framesLeft = fault?.cutAfter ?? Number.POSITIVE_INFINITY;
  outgoing.writeHead(200, { ...standardHeaders, ...HEADERS });
  outgoing.on("close", () => {
    isOpen = false;
  });
  outgoing.on("error", () => undefined);

  function end(last = ""): void {
    if (isOpen) outgoing.end(last);
    isOpen = false;
  }

  function cut(): void {
    if (fault?.clean) end();
    else outgoing.destroy();
  }

  return {
    async send(frame) {
      if (!isOpen || frame === "") return;
      if (framesLeft <= 0) return cut();
      framesLeft -= 1;
      if (fault && fault.delayMs > 0) await sleep(fault.delayMs);
      if (!isOpen || outgoing.write(frame)) return;
      await Promise.race([once(outgoing, "drain"), once(outgoing, "close")]).catch(() => undefined);
    },
    comment(text) {
      if (isOpen) outgoing.write(text);
    },
    end,
  };
}

interface Streamed {
  readonly job: ChatJob;
  readonly head: CompletionHead;
  readonly composed: Composed;
  readonly includeUsage: boolean;
}

/**
 * Streams an answer token by token. The job continues to its end when the reader disconnects. Once the stream has
 * started, a failure is reported as one chunk with the error, then the stream ends.
 */
export function chatStreamer({ clock, streams, faults }: ServiceContext) {
  return async (call: Call, { job, head, composed, includeUsage }: Streamed): Promise<void> => {
    const { choices, usage } = composed;
    const chunks = chunkWriter(head, includeUsage);
    const sink = openSink(call, faults.stream(job.row));
    const failsAt = job.failure === null ? Number.POSITIVE_INFINITY : Math.floor(usage.completion_tokens / 2);
    const leave = streams.add({
      wakeOn: () => () => undefined,
      onWake: () => undefined,
      keepAlive: sink.comment,
      shutDown: () => sink.end(chunks.error(refuseForNow("UNAVAILABLE", "The service is closing.", 1).body)),
    });

    async function sendChoices(): Promise<void> {
      let sent = 0;
      for (const [index, { tokens, finishReason }] of choices.entries()) {
        await sink.send(chunks.first(index));
        for (const token of tokens) {
          if (sent >= failsAt) return;
          await until(clock, job.dueMs(sent++));
          await sink.send(chunks.token(index, token));
        }
        await sink.send(chunks.last(index, finishReason));
      }
    }

    try {
      await sendChoices();
      await job.finish();
      if (job.failure) return sink.end(chunks.error(job.failure));
      await sink.send(chunks.usage(usage));
      await sink.send(STREAM_END);
      sink.end();
    } finally {
      leave();
    }
  };
}

/** What names a category is for models of media: a chat can be asked for another prompt, and does not repeat the word. */
function withoutNamed(request: ChatRequest, triggers: readonly string[]): ChatRequest {
  const words = triggers.map((word) => word.replaceAll(/[^\w\s]/g, "\\$&"));
  if (words.length === 0) return request;
  const named = new RegExp(`(?:${words.join("|")}):[a-z_-]+`, "gi");
  const messages = request.messages.map((message) => ({ ...message, text: message.text.replaceAll(named, "quiet") }));
  return { ...request, messages };
}

function moderate(request: ChatRequest, triggers: readonly string[]): void {
  const texts = request.messages.map(({ text }, index) => ({ field: `messages[${index}].content`, text }));
  const refused = moderateTexts(texts, triggers);
  if (refused !== null) throw refused;
}

/** Which of its pictures are black; null where it has none. */
async function look({ images }: ChatRequest): Promise<readonly number[] | null> {
  if (images.length === 0) return null;
  // What decodes pictures is loaded for the first of them.
  const { blackAmong } = await import("./pictures.ts");
  return blackAmong(images);
}

/** `POST /chat/completions`: answered by the text engine in this process, and charged like any job. */
export function chatEndpoints(service: ServiceContext): readonly Endpoint[] {
  const { clock, options, onDefect } = service;
  const start = chatJobs(service);
  const stream = chatStreamer(service);

  async function complete(call: Call): Promise<Answer> {
    const body = await call.json();
    const named = modelNamed(body);
    if (named !== null) chatModel(named);
    const request = withoutNamed(readChatRequest(body), options.moderationTriggers);
    const model = chatModel(request.model);
    moderate(request, options.moderationTriggers);
    const composed = compose(request, model, await look(request));
    const job = await start(request, composed, call.principal);
    const head = { id: job.row.jobId, created: Math.floor(job.row.createdAt / 1000), model: model.id };
    if (request.stream) {
      const streamed = { job, head, composed, includeUsage: request.includeUsage };
      stream(call, streamed).catch((error: unknown) => onDefect(error, call.traceId));
      return { is: "sent", status: 200 };
    }
    await until(clock, job.dueMs(composed.usage.completion_tokens));
    await job.finish();
    if (job.failure === null) return ok(completion(head, composed));
    const retryAfter = job.failure.retry_after;
    throw new Refusal(job.failure, retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) });
  }

  return [endpoint("POST", "/chat/completions", "chat:write", "Answer a conversation, whole or as a stream", complete)];
}
