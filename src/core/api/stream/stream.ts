import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { undici } from "../../network/index.ts";
import { sleep, startDeadline } from "../clock.ts";
import { type JobStatusView, jobStatusView, type LogEvent, logEvent } from "../endpoints/jobs.ts";
import { ApiError, ConnectionError } from "../errors.ts";
import { SeenUpdates } from "../follow/context.ts";
import { type ApiRequest, type CallOptions, checkSending, errorOf, type HttpContext, type Sent } from "../http/call.ts";
import type { SendMark } from "../http/transport.ts";
import { checkTimeout, segment } from "../options.ts";
import type { Priority } from "../pace/fair-queue.ts";
import type { Redactor } from "../redactor.ts";

/** Options for `stream`. */
export interface StreamOptions {
  /** Id of the last frame received from an earlier stream. This stream continues after it. */
  readonly lastEventId?: string | null | undefined;
  /** Ends the stream. The job continues. */
  readonly signal?: AbortSignal | undefined;
  /** Requests with a higher priority are sent first. */
  readonly priority?: Priority | undefined;
  /** Milliseconds without data after which the stream reconnects. Default: 60,000. */
  readonly idleMs?: number | undefined;
  /** Number of consecutive connections without a new event after which the stream fails. Default: 5. */
  readonly maxFruitless?: number | undefined;
}

const reconnectMs = 1_000;
const maxReconnectMs = 30_000;
const usefulLifeMs = 5_000;

interface StreamState {
  lastEventId: string | null;
  retryMs: number | null;
  fruitless: number;
  readonly seen: SeenUpdates;
}

/** Yields each frame of a job's stream once, and reconnects if the connection breaks or falls silent. */
export async function* streamJob(
  context: HttpContext,
  jobId: string,
  options: StreamOptions = {},
): AsyncGenerator<StreamFrame, void> {
  checkTimeout(options.idleMs, "idleMs");
  const state: StreamState = {
    lastEventId: options.lastEventId ?? null,
    retryMs: null,
    fruitless: 0,
    seen: new SeenUpdates(),
  };
  for (;;) {
    options.signal?.throwIfAborted();
    const openedAt = context.clock.now();
    const before = state.fruitless++;
    const ended = yield* oneConnection(context, jobId, options, state);
    if (ended === "done") return;
    // A 429 and a connection that lasted long enough do not count as fruitless.
    if (ended === "limited" || context.clock.now() - openedAt >= usefulLifeMs)
      state.fruitless = Math.min(state.fruitless, before);
    if (state.fruitless >= (options.maxFruitless ?? 5)) throw gaveUp(jobId, state.fruitless);
    await sleep(context.clock, reconnectDelayMs(state, context.random()), options.signal);
  }
}

/** How a connection ended: with the job (`done`), with a 429 (`limited`), or too early (`cut`). */
type Ending = "done" | "limited" | "cut";

/** Yields the frames of one connection. Throws only errors that reconnecting cannot fix. */
async function* oneConnection(
  context: HttpContext,
  jobId: string,
  options: StreamOptions,
  state: StreamState,
): AsyncGenerator<StreamFrame, Ending> {
  const request = { method: "GET", path: `/jobs/${segment(jobId)}/stream`, requestClass: "stream" } as const;
  const bounds = { signal: options.signal, priority: options.priority, timeoutMs: options.idleMs ?? 60_000 };
  const headers: Record<string, string> = state.lastEventId === null ? {} : { "last-event-id": state.lastEventId };
  const opened = await openStream(context, request, bounds, headers);
  if (opened.kind === "aborted") throw opened.reason;
  if (opened.kind !== "open") {
    context.logger.debug({ jobId, kind: opened.kind }, "the stream could not be opened");
    const error = errorOf(context, request, bounds, opened);
    if (error instanceof ApiError) {
      if (error.status === 429) return "limited";
      if (!error.retryable) throw error;
      state.retryMs = error.retryAfterMs;
    }
    if (state.fruitless >= (options.maxFruitless ?? 5)) throw error;
    return "cut";
  }
  try {
    for await (const piece of readStream(opened)) {
      if (piece.kind === "retry") {
        state.retryMs = piece.delayMs;
        continue;
      }
      const frame = readFrame(piece.message, context.redactor);
      if (frame === null) continue;
      if (frame.type !== "done" && frame.id) state.lastEventId = frame.id;
      if (isNews(frame, state.seen)) {
        state.fruitless = 0;
        yield frame;
      }
      if (frame.type === "done") return "done";
    }
  } catch (cause) {
    options.signal?.throwIfAborted();
    context.logger.debug({ jobId, cause: String(cause) }, "stream was cut");
  }
  // After the final status, it does not matter that the `done` frame is missing.
  return state.seen.isOver ? "done" : "cut";
}

function isNews(frame: StreamFrame, seen: SeenUpdates): boolean {
  if (frame.type === "done") return true;
  return frame.type === "log" ? seen.addLog(frame.log) : seen.addStatus(frame.status);
}

function reconnectDelayMs(state: StreamState, chance: number): number {
  const backoffMs = Math.min(maxReconnectMs, reconnectMs * 2 ** Math.max(0, state.fruitless - 1));
  // Use the service's retry delay, unless several connections brought no new event.
  const stepMs = state.fruitless > 1 ? Math.max(state.retryMs ?? 0, backoffMs) : (state.retryMs ?? backoffMs);
  return Math.min(maxReconnectMs, stepMs / 2 + (chance * stepMs) / 2);
}

function gaveUp(jobId: string, connections: number): ConnectionError {
  return new ConnectionError(
    `the stream of ${jobId} was interrupted ${connections} times in a row without a new event; poll the job instead`,
    { sent: true },
  );
}

/** A frame of a job's stream. */
export type StreamFrame =
  | { readonly type: "status"; readonly id: string | null; readonly status: JobStatusView }
  | { readonly type: "log"; readonly id: string | null; readonly log: LogEvent }
  | { readonly type: "done" };

const doneToken = "[STREAM_DONE]";

export function readFrame(message: EventSourceMessage, redactor: Redactor): StreamFrame | null {
  if (message.event === "done" || message.data === doneToken) return { type: "done" };
  const id = message.id === undefined ? null : redactor.text(message.id);
  const data = redactor.json(message.data);
  if (message.event === "log") {
    const log = logEvent.safeParse(data);
    return log.success ? { type: "log", id, log: log.data } : null;
  }
  if (message.event === "status") {
    const status = jobStatusView.safeParse(data);
    return status.success ? { type: "status", id, status: status.data } : null;
  }
  return null;
}

export interface OpenStream {
  readonly kind: "open";
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Cancels the time limit. Call this once the body has been read or abandoned. */
  release(): void;
  extend(): void;
  timedOut(): boolean;
}

/** Opens an event stream. If the response is not a stream, reads it whole. */
export async function openStream(
  context: HttpContext,
  request: Pick<ApiRequest, "method" | "path" | "json" | "requestClass">,
  options: CallOptions,
  headers: Readonly<Record<string, string>> = {},
  isOpen = (status: number): boolean => status === 200,
): Promise<OpenStream | Sent> {
  const { signal, priority = 0, timeoutMs = context.timeoutMs } = options;
  const text = checkSending(request, options);
  const opened = await context.pacer.run({ requestClass: request.requestClass, priority, signal }, async () => {
    const mark: SendMark = { sent: false };
    const deadline = startDeadline(context.clock, timeoutMs, signal);
    try {
      const answer = await undici().request(`${context.base.href}${request.path}`, {
        method: request.method,
        body: text,
        dispatcher: context.transport.streams,
        opaque: mark,
        headers: {
          ...(context.authorization !== null && { authorization: context.authorization }),
          accept: "text/event-stream",
          "user-agent": "showrunner",
          ...(text === null ? {} : { "content-type": "application/json" }),
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

type StreamPiece =
  | { readonly kind: "message"; readonly message: EventSourceMessage }
  | { readonly kind: "retry"; readonly delayMs: number };

const maxEventChars = 4 * 1024 * 1024;

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
