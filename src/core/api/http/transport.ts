import type { IncomingHttpHeaders } from "node:http";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { type AddressGuard, createAgent } from "../../network/index.ts";
import type { Clock } from "../clock.ts";

export interface SendMark {
  sent: boolean;
}

/** The connections to the service. Short requests and long ones (streams, downloads) use separate pools. */
export interface Transport {
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
  /** For downloads. Connects only to addresses that the guard allows, because the service chooses the URLs. */
  readonly downloads: Dispatcher;
  readonly guard: AddressGuard;
  close(): Promise<void>;
}

const markSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const mark = (options as { readonly opaque?: unknown }).opaque as SendMark | undefined;
  const begin = handler.onRequestStart?.bind(handler);
  handler.onRequestStart = (controller, context) => {
    if (mark) mark.sent = true;
    begin?.(controller, context);
  };
  return dispatch(options, handler);
};

/** Options for the HTTP agents. undici's timeouts are off, because the client enforces its own. */
const agentOptions: Agent.Options = {
  allowH2: false,
  pipelining: 1,
  keepAliveTimeout: 4_000,
  headersTimeout: 0,
  bodyTimeout: 0,
};
const connectMs = 10_000;

/**
 * Creates a transport that uses the given dispatcher, or else its own agents. With a given dispatcher, the guard can
 * check only literal IP addresses.
 */
export function createTransport(guard: AddressGuard, given?: Dispatcher): Transport {
  if (given) {
    const streams = given.compose(markSent);
    return { requests: given, streams, downloads: streams, guard, close: async () => {} };
  }
  const agents: Agent[] = [];
  let isClosed = false;
  const agentWith = (lookup: LookupFunction) => {
    const agent = createAgent({ ...agentOptions, connect: { timeout: connectMs, lookup } });
    agents.push(agent);
    if (isClosed) void agent.destroy();
    return agent;
  };
  let requests: Dispatcher | undefined;
  let streams: Dispatcher | undefined;
  let downloads: Dispatcher | undefined;
  return {
    get requests() {
      requests ??= agentWith(guard.lookupOwn);
      return requests;
    },
    get streams() {
      streams ??= agentWith(guard.lookupOwn).compose(markSent);
      return streams;
    },
    get downloads() {
      downloads ??= agentWith(guard.lookupNamed).compose(markSent);
      return downloads;
    },
    guard,
    close: async () => {
      isClosed = true;
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}

const MOST_BYTES = { answer: 16 * 1024 * 1024, error: 1024 * 1024 };

/** Collects one response. For many small responses, this uses less memory than a stream. */
class AnswerCollector implements Dispatcher.DispatchHandler {
  readonly #onResult: (result: Exchange) => void;
  readonly #mayLeave: () => boolean;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #sent = false;
  #over = false;
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  constructor(onResult: (result: Exchange) => void, mayLeave: () => boolean) {
    this.#onResult = onResult;
    this.#mayLeave = mayLeave;
  }

  stop(result: (sent: boolean) => Exchange): void {
    this.#finish(result(this.#sent));
    this.#controller?.abort(new Error("the request was cancelled"));
  }

  fail(cause: unknown): void {
    this.#finish({ kind: "lost", sent: this.#sent, timedOut: false, cause });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request was stopped while it waited for a connection, so it must not be sent.
    if (this.#over) controller.abort(new Error("the request was stopped before it was sent"));
    // The machine may have slept while connecting.
    else if (!this.#mayLeave()) controller.abort(new Error("the deadline passed before the request could be sent"));
    else this.#sent = true;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    const most = this.#status < 400 ? MOST_BYTES.answer : MOST_BYTES.error;
    if (this.#sizeBytes <= most) this.#chunks.push(chunk);
    else {
      this.#chunks.length = 0;
      controller.abort(new Error(`the response is larger than ${most} bytes`));
    }
  }

  onResponseEnd(): void {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    this.#finish({ kind: "answer", status: this.#status, headers: this.#headers, text });
  }

  onResponseError(_controller: Dispatcher.DispatchController, cause: Error): void {
    // undici turns the proxy's 407 response into an error.
    if (/Proxy Authentication Required/.test(cause.message)) {
      this.#finish({ kind: "answer", status: 407, headers: this.#headers, text: "" });
    } else this.fail(cause);
  }

  #finish(result: Exchange): void {
    if (this.#over) return;
    this.#over = true;
    this.#onResult(result);
  }
}

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface OutgoingRequest {
  readonly method: HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: (() => string | AsyncIterable<Uint8Array>) | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly sendBefore?: number | undefined;
}

/** The outcome of one request. `lost` means that no complete response arrived. */
export type Exchange =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | { readonly kind: "lost"; readonly sent: boolean; readonly timedOut: boolean; readonly cause: unknown }
  | { readonly kind: "aborted"; readonly sent: boolean; readonly reason: unknown };

/** Sends a request once and reads the complete response. Never rejects. */
export function exchange(dispatcher: Dispatcher, clock: Clock, outgoing: OutgoingRequest): Promise<Exchange> {
  const { signal, timeoutMs, sendBefore = Number.POSITIVE_INFINITY } = outgoing;
  if (signal?.aborted) return Promise.resolve({ kind: "aborted", sent: false, reason: signal.reason });
  return new Promise((resolve) => {
    const onResult = (result: Exchange) => {
      timer?.cancel();
      signal?.removeEventListener("abort", onAbort);
      resolve(result);
    };
    const collector = new AnswerCollector(onResult, () => clock.now() < sendBefore);
    const onAbort = () => collector.stop((sent) => ({ kind: "aborted", sent, reason: signal?.reason }));
    const expire = () => {
      const cause = new Error(`no data arrived within ${timeoutMs} ms`);
      collector.stop((sent) => ({ kind: "lost", sent, timedOut: true, cause }));
    };
    // The timer need not keep the process alive, because the open socket does.
    const timer = Number.isFinite(timeoutMs) ? clock.setTimer(timeoutMs, expire, { background: true }) : null;
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      dispatcher.dispatch(dispatchOptions(outgoing), collector);
    } catch (cause) {
      collector.fail(cause);
    }
  });
}

function dispatchOptions(outgoing: OutgoingRequest): Dispatcher.DispatchOptions {
  const url = new URL(outgoing.url);
  const body = outgoing.body?.();
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: outgoing.method,
    headers: { ...outgoing.headers },
    body: body === undefined || typeof body === "string" ? (body ?? null) : Readable.from(body, { objectMode: false }),
  };
}

export function headerText(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}

export function headerNumber(headers: IncomingHttpHeaders, name: string): number | null {
  const text = headerText(headers, name);
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

export function retryAfterHeaderMs(headers: IncomingHttpHeaders, now: number): number | null {
  const seconds = headerNumber(headers, "retry-after");
  if (seconds !== null) return Math.max(0, seconds * 1000);
  const at = Date.parse(headerText(headers, "retry-after") ?? "");
  if (Number.isNaN(at)) return null;
  const sentAt = Date.parse(headerText(headers, "date") ?? "");
  return Math.max(0, at - (Number.isNaN(sentAt) ? now : sentAt));
}
