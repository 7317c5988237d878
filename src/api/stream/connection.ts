import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { request } from "undici";
import type { HttpContext } from "../http/call.ts";
import { startDeadline } from "../http/deadline.ts";
import type { SendMark } from "../http/transport.ts";
import type { PaceSlot, RequestClass } from "../pace/pacer.ts";

export interface StreamOpening {
  readonly method: "GET" | "POST";
  /** Below the base, already encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly requestClass: RequestClass;
  readonly signal?: AbortSignal | undefined;
  readonly priority: number;
  /** Milliseconds without a single byte, keep-alive comments included, after which a connection counts as dead. */
  readonly idleMs: number;
}

/** How opening a stream ended. The pacer's slot is free again as soon as the headers are there. */
export type OpenedStream =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Readable;
      release(): void;
      extend(): void;
      timedOut(): boolean;
    }
  | { readonly kind: "lost"; readonly sent: boolean; readonly timedOut: boolean; readonly cause: unknown }
  | { readonly kind: "aborted"; readonly sent: boolean; readonly reason: unknown };

export function openStream(context: HttpContext, opening: StreamOpening): Promise<OpenedStream> {
  const slot: PaceSlot = { requestClass: opening.requestClass, priority: opening.priority, signal: opening.signal };
  return context.pacer.run(slot, async (): Promise<OpenedStream> => {
    const mark: SendMark = { sent: false };
    const deadline = startDeadline(context.clock, opening.idleMs, opening.signal);
    try {
      const answer = await request(`${context.base.href}${opening.path}`, {
        method: opening.method,
        body: opening.json === undefined ? null : JSON.stringify(opening.json),
        dispatcher: context.transport.streams,
        opaque: mark,
        headers: {
          authorization: context.authorization,
          accept: "text/event-stream",
          "user-agent": "showrunner",
          ...(opening.json === undefined ? {} : { "content-type": "application/json" }),
          ...opening.headers,
        },
        signal: deadline.signal,
      });
      const { statusCode: status, headers, body } = answer;
      return { kind: "answer", status, headers: context.redactor.headers(headers), body, ...deadline };
    } catch (cause) {
      const timedOut = deadline.timedOut();
      deadline.release();
      if (opening.signal?.aborted && !timedOut)
        return { kind: "aborted", sent: mark.sent, reason: opening.signal.reason };
      return { kind: "lost", sent: mark.sent, timedOut, cause };
    }
  });
}

/** One thing read from an open stream. */
export type StreamPiece =
  | { readonly kind: "message"; readonly message: EventSourceMessage }
  | { readonly kind: "retry"; readonly delayMs: number };

/** Largest single event that is buffered; a job's events are far below. */
const maxEventChars = 4 * 1024 * 1024;

/** Pieces until the connection ends; throws when it breaks or falls silent. Bytes of any kind keep it alive. */
export async function* readStream(
  opened: Extract<OpenedStream, { kind: "answer" }>,
): AsyncGenerator<StreamPiece, void> {
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
export async function readText(opened: Extract<OpenedStream, { kind: "answer" }>): Promise<string> {
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
