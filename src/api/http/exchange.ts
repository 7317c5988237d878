import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import type { Clock } from "../clock.ts";
import { startDeadline } from "./deadline.ts";
import type { SendMark } from "./transport.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One request, ready to leave. `body` makes a fresh body for every send. */
export interface OutgoingRequest {
  readonly method: HttpMethod;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: (() => string | AsyncIterable<Uint8Array>) | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** How one send ended. An answer that broke off in its body is lost, not an answer. */
export type Exchange =
  | { readonly kind: "answer"; readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }
  | { readonly kind: "lost"; readonly sent: boolean; readonly timedOut: boolean; readonly cause: unknown }
  | { readonly kind: "aborted"; readonly sent: boolean; readonly reason: unknown };

/** Largest JSON answer that is read; the description has nothing near it. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Sends one request and reads the whole answer. Never throws; never retries. */
export async function exchange(dispatcher: Dispatcher, clock: Clock, outgoing: OutgoingRequest): Promise<Exchange> {
  const mark: SendMark = { sent: false };
  const deadline = startDeadline(clock, outgoing.timeoutMs, outgoing.signal);
  try {
    const answer = await request(outgoing.url, {
      dispatcher,
      opaque: mark,
      method: outgoing.method,
      headers: outgoing.headers,
      body: bodyOf(outgoing),
      signal: deadline.signal,
    });
    const text = await readBounded(answer.body);
    return { kind: "answer", status: answer.statusCode, headers: answer.headers, text };
  } catch (cause) {
    if (outgoing.signal?.aborted && !deadline.timedOut()) {
      return { kind: "aborted", sent: mark.sent, reason: outgoing.signal.reason };
    }
    return { kind: "lost", sent: mark.sent, timedOut: deadline.timedOut(), cause };
  } finally {
    deadline.release();
  }
}

function bodyOf(outgoing: OutgoingRequest): string | Readable | null {
  const body = outgoing.body?.();
  if (body === undefined) return null;
  return typeof body === "string" ? body : Readable.from(body, { objectMode: false });
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
