import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Clock } from "../clock.ts";
import { AnswerCollector } from "./answer-collector.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One request, ready to leave. `body` makes a fresh body for every send. */
export interface OutgoingRequest {
  readonly method: HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: (() => string | AsyncIterable<Uint8Array>) | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Epoch milliseconds from which on it must not leave any more. */
  readonly sendBefore?: number | undefined;
}

/** How one send ended. An answer that broke off in its body is lost, not an answer. */
export type Exchange =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | { readonly kind: "lost"; readonly sent: boolean; readonly timedOut: boolean; readonly cause: unknown }
  | { readonly kind: "aborted"; readonly sent: boolean; readonly reason: unknown };

/** Sends one request and reads the whole answer. Never throws; never retries. */
export function exchange(dispatcher: Dispatcher, clock: Clock, outgoing: OutgoingRequest): Promise<Exchange> {
  const { signal, timeoutMs, sendBefore = Number.POSITIVE_INFINITY } = outgoing;
  if (signal?.aborted) return Promise.resolve({ kind: "aborted", sent: false, reason: signal.reason });
  return new Promise((resolve) => {
    const settle = (result: Exchange) => {
      timer?.cancel();
      signal?.removeEventListener("abort", onAbort);
      resolve(result);
    };
    const collector = new AnswerCollector(settle, () => clock.now() < sendBefore);
    const onAbort = () => collector.stop((sent) => ({ kind: "aborted", sent, reason: signal?.reason }));
    const expire = () => {
      const cause = new Error(`nothing came within ${timeoutMs} ms`);
      collector.stop((sent) => ({ kind: "lost", sent, timedOut: true, cause }));
    };
    // The socket it guards keeps the process alive; the timer need not.
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
