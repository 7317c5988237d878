import { segment } from "../base-url.ts";
import { sleep } from "../clock.ts";
import { ConnectionError } from "../errors/client-errors.ts";
import { answerError } from "../http/answer-error.ts";
import type { HttpContext } from "../http/call.ts";
import { lostError } from "../http/transport-failure.ts";
import { type OpenedStream, openStream, readStream, readText } from "./connection.ts";
import { createFrameFilter, type FrameFilter, readFrame, type StreamFrame } from "./frame.ts";

export interface StreamOptions {
  /** Resume after this frame id, from an earlier stream of the same job. */
  readonly lastEventId?: string | null | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly priority?: number | undefined;
  /** Milliseconds of complete silence after which the connection is opened again. Default 60 000. */
  readonly idleMs?: number | undefined;
  /** Connections in a row that brought nothing before the stream gives up. Default 5. */
  readonly maxFruitless?: number | undefined;
}

/** Delay before a connection is opened again, unless the service named one: the base of a full-jitter backoff. */
const reconnectMs = 1_000;
const maxReconnectMs = 30_000;
/** A connection that lived this long was of use even when it told nothing new. */
const usefulLifeMs = 5_000;

interface StreamState {
  lastEventId: string | null;
  retryMs: number | null;
  fruitless: number;
  readonly filter: FrameFilter;
}

/**
 * Every frame of a job until done. Reconnects and resumes by itself after cuts, drains and silence; a frame that was
 * seen before is not repeated. Throws ApiError when the service refuses, ConnectionError when it cannot be reached.
 */
export async function* streamJob(
  context: HttpContext,
  jobId: string,
  options: StreamOptions = {},
): AsyncGenerator<StreamFrame, void> {
  const state: StreamState = {
    lastEventId: options.lastEventId ?? null,
    retryMs: null,
    fruitless: 0,
    filter: createFrameFilter(),
  };
  for (;;) {
    options.signal?.throwIfAborted();
    const openedAt = context.clock.now();
    const before = state.fruitless++;
    const ended = yield* oneConnection(context, jobId, options, state);
    if (ended === "done") return;
    // A service may ask to come back; one that only ever asks is as fruitless as one that cuts.
    if (ended === "limited" || context.clock.now() - openedAt >= usefulLifeMs)
      state.fruitless = Math.min(state.fruitless, before);
    if (state.fruitless >= (options.maxFruitless ?? 5)) throw gaveUp(jobId, state.fruitless);
    await sleep(context.clock, reconnectDelayMs(state, context.random()), options.signal);
  }
}

/** `limited`: a 429, for which the pacer waits; `cut`: by the network or by the service, to be resumed. */
type Ending = "done" | "limited" | "cut";

/** One connection's frames. Returns how it ended; throws only errors that no reconnection can fix. */
async function* oneConnection(
  context: HttpContext,
  jobId: string,
  options: StreamOptions,
  state: StreamState,
): AsyncGenerator<StreamFrame, Ending> {
  const opened = await openStream(context, {
    method: "GET",
    path: `/jobs/${segment(jobId)}/stream`,
    headers: state.lastEventId === null ? {} : { "last-event-id": state.lastEventId },
    requestClass: "stream",
    signal: options.signal,
    priority: options.priority ?? 0,
    idleMs: options.idleMs ?? 60_000,
  });
  if (opened.kind === "aborted") throw opened.reason;
  if (opened.kind === "lost") {
    context.logger.debug({ jobId, sent: opened.sent }, "stream could not be opened");
    if (state.fruitless >= (options.maxFruitless ?? 5)) throw lostError(opened, describe(context, jobId, options));
    return "cut";
  }
  if (opened.status !== 200) return await refused(context, jobId, opened, state, options);
  try {
    for await (const piece of readStream(opened)) {
      if (piece.kind === "retry") {
        state.retryMs = piece.delayMs;
        continue;
      }
      const frame = readFrame(piece.message, context.redactor);
      if (frame === null) continue;
      if (frame.type !== "done" && frame.id) state.lastEventId = frame.id;
      if (state.filter.accepts(frame)) {
        state.fruitless = 0;
        yield frame;
      }
      if (frame.type === "done") return "done";
    }
  } catch (cause) {
    options.signal?.throwIfAborted();
    context.logger.debug({ jobId, cause: String(cause) }, "stream was cut");
  }
  // After the terminal status only done was missing, and that says nothing more.
  return state.filter.terminal ? "done" : "cut";
}

async function refused(
  context: HttpContext,
  jobId: string,
  opened: Extract<OpenedStream, { kind: "answer" }>,
  state: StreamState,
  options: StreamOptions,
): Promise<Ending> {
  const body = context.redactor.json(await readText(opened).catch(() => ""));
  const error = answerError({ ...opened, body }, describe(context, jobId, options), context.clock);
  if (opened.status === 429) return "limited";
  if (!error.retryable || state.fruitless >= (options.maxFruitless ?? 5)) throw error;
  state.retryMs = error.retryAfterMs;
  return "cut";
}

function describe(context: HttpContext, jobId: string, options: StreamOptions) {
  return {
    method: "GET",
    path: `/jobs/${jobId}/stream`,
    origin: context.base.origin,
    timeoutMs: options.idleMs ?? 60_000,
  };
}

function reconnectDelayMs(state: StreamState, chance: number): number {
  const backoffMs = Math.min(maxReconnectMs, reconnectMs * 2 ** Math.max(0, state.fruitless - 1));
  // The service's retry delay applies, until connections bring nothing new.
  const stepMs = state.fruitless > 1 ? Math.max(state.retryMs ?? 0, backoffMs) : (state.retryMs ?? backoffMs);
  return Math.min(maxReconnectMs, stepMs / 2 + (chance * stepMs) / 2);
}

function gaveUp(jobId: string, connections: number): ConnectionError {
  return new ConnectionError(
    `the stream of ${jobId} broke off ${connections} times in a row without anything new; follow the job by polling`,
    { sent: true },
  );
}
