import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { undici } from "../../network/index.ts";
import { startDeadline } from "../clock.ts";
import type { ApiRequest, CallOptions, HttpContext, Sent } from "../http/call.ts";
import type { SendMark } from "../http/transport.ts";

export interface OpenStream {
  readonly kind: "open";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Frees the timer; call it when the body was read or is left. */
  release(): void;
  extend(): void;
  timedOut(): boolean;
}

/**
 * Opens a stream of events; the pacer's slot is free again as soon as the headers are there. `timeoutMs` is how long there
 * may be no byte, keep-alive comments included, before the connection counts as dead. What is no stream is read whole.
 */
export async function openStream(
  context: HttpContext,
  request: Pick<ApiRequest, "method" | "path" | "json" | "requestClass">,
  options: CallOptions,
  headers: Readonly<Record<string, string>> = {},
  isOpen = (status: number): boolean => status === 200,
): Promise<OpenStream | Sent> {
  const { signal, priority = 0, timeoutMs = context.timeoutMs } = options;
  const opened = await context.pacer.run({ requestClass: request.requestClass, priority, signal }, async () => {
    const mark: SendMark = { sent: false };
    const deadline = startDeadline(context.clock, timeoutMs, signal);
    try {
      const answer = await undici().request(`${context.base.href}${request.path}`, {
        method: request.method,
        body: request.json === undefined ? null : JSON.stringify(request.json),
        dispatcher: context.transport.streams,
        opaque: mark,
        headers: {
          ...(context.authorization !== null && { authorization: context.authorization }),
          accept: "text/event-stream",
          "user-agent": "showrunner",
          ...(request.json === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        signal: deadline.signal,
      });
      const { statusCode: status, body } = answer;
      return { kind: "answer" as const, status, headers: context.redactor.headers(answer.headers), body, ...deadline };
    } catch (cause) {
      const timedOut = deadline.timedOut();
      deadline.release();
      if (signal?.aborted && !timedOut) return { kind: "aborted" as const, sent: mark.sent, reason: signal.reason };
      return { kind: "lost" as const, sent: mark.sent, timedOut, cause };
    }
  });
  if (opened.kind !== "answer") return opened;
  const stream: OpenStream = { ...opened, kind: "open" };
  if (isOpen(opened.status)) return stream;
  const body = context.redactor.json(await readText(stream).catch(() => ""));
  return { kind: "answer", status: opened.status, headers: opened.headers, body };
}

/** One thing read from an open stream. */
export type StreamPiece =
  | { readonly kind: "message"; readonly message: EventSourceMessage }
  | { readonly kind: "retry"; readonly delayMs: number };

/** Largest single event that is buffered; a job's events are far below. */
const maxEventChars = 4 * 1024 * 1024;

/** Pieces until the connection ends; throws when it breaks or falls silent. Bytes of any kind keep it alive. */
export async function* readStream(opened: OpenStream): AsyncGenerator<StreamPiece, void> {
  let pieces: StreamPiece[] = [];
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent: (message) => pieces.push({ kind: "message", message }),
    onRetry: (delayMs) => pieces.push({ kind: "retry", delayMs }),
    maxBufferSize: maxEventChars,
  });
  try {
    for await (const chunk of opened.body as AsyncIterable<Buffer>) {
      opened.extend();
      parser.feed(decoder.decode(chunk, { stream: true }));
      const ready = pieces;
      pieces = [];
      yield* ready;
    }
  } finally {
    opened.release();
    opened.body.destroy();
  }
}

/** The body of an answer that is no stream, such as an error; only its first megabyte. */
async function readText(opened: OpenStream): Promise<string> {
  let text = "";
  try {
    for await (const chunk of opened.body) {
      text += chunk;
      if (text.length > 1_000_000) break;
    }
  } finally {
    opened.release();
    opened.body.destroy();
  }
  return text;
}
