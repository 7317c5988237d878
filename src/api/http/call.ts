import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import type { BaseUrl } from "../base-url.ts";
import { type Clock, sleep } from "../clock.ts";
import type { ApiError } from "../errors/api-error.ts";
import { MalformedResponseError, UploadError } from "../errors/client-errors.ts";
import type { DownloadLimits } from "../files/download-limit.ts";
import type { Logger } from "../logger.ts";
import type { Pacer, RequestClass } from "../pace/pacer.ts";
import type { Redactor } from "../redactor.ts";
import { answerError } from "./answer-error.ts";
import { type Exchange, exchange, type HttpMethod } from "./exchange.ts";
import { backoffMs, type Repeat, type RetryPolicy } from "./retry.ts";
import type { Transport } from "./transport.ts";
import { lostError } from "./transport-failure.ts";

/** What every request of one client shares. */
export interface HttpContext {
  readonly base: BaseUrl;
  readonly authorization: string;
  /** The only reader of what the service says: headers, bodies and frames pass it first. */
  readonly redactor: Redactor;
  readonly transport: Transport;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
  readonly downloadLimits: DownloadLimits;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call; work that the service has started continues. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one send to be answered whole. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Higher goes first where requests queue for the pacer. Default by kind: submits 10, follows and reads 0. */
  readonly priority?: number | undefined;
}

export interface SendOptions extends CallOptions {
  /** Epoch milliseconds from which on nothing of it is sent any more, however long it waited for its turn. Default: none. */
  readonly sendBefore?: number | undefined;
}

export interface ApiRequest {
  readonly method: HttpMethod;
  /** Below the base, already encoded, such as `/jobs/job_1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | null | undefined>> | undefined;
  readonly json?: unknown;
  /** In place of `json`: a body in pieces, created again for every send, with its headers. */
  readonly stream?: {
    readonly headers: Readonly<Record<string, string>>;
    readonly open: () => AsyncIterable<Uint8Array>;
  };
  readonly requestClass: RequestClass;
  readonly repeat: Repeat;
  readonly priority: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** How one send ended, its answer read. */
export type Sent = Exclude<Exchange, { readonly kind: "answer" }> | ({ readonly kind: "answer" } & ApiAnswer);

/** One send through the pacer. Never throws but for a caller's abort while it queued. */
export async function send(context: HttpContext, request: ApiRequest, options: SendOptions = {}): Promise<Sent> {
  const slot = {
    requestClass: request.requestClass,
    priority: options.priority ?? request.priority,
    signal: options.signal,
  };
  const result = await context.pacer.run(slot, () =>
    exchange(context.transport.requests, context.clock, {
      method: request.method,
      url: urlOf(context.base, request),
      headers: headersOf(context, request),
      body: request.stream?.open ?? (request.json === undefined ? undefined : () => JSON.stringify(request.json)),
      timeoutMs: options.timeoutMs ?? context.timeoutMs,
      signal: options.signal,
      sendBefore: options.sendBefore,
    }),
  );
  if (result.kind !== "answer") return result;
  const { redactor } = context;
  return {
    kind: "answer",
    status: result.status,
    headers: redactor.headers(result.headers),
    body: redactor.json(result.text),
  };
}

/** Sends until an answer decides the call, within the request's own rules of repetition. */
export async function call(context: HttpContext, request: ApiRequest, options: CallOptions = {}): Promise<ApiAnswer> {
  const startedAt = context.clock.now();
  for (let failures = 1; ; ) {
    const result = await send(context, request, options);
    if (result.kind === "aborted") throw result.reason;
    const answer = successOf(result);
    if (answer) return answer;
    const error = errorOf(context, request, options, result);
    const limited = result.kind === "answer" && result.status === 429;
    const outOfTime = context.clock.now() - startedAt >= context.retry.maxElapsedMs;
    if (outOfTime || failures >= context.retry.maxAttempts || !mayRepeat(request.repeat, result, error)) throw error;
    if (limited) continue;
    const waitMs = backoffMs(
      context.retry,
      failures++,
      "retryAfterMs" in error ? error.retryAfterMs : null,
      context.random(),
    );
    context.logger.debug({ path: request.path, code: error.code, waitMs }, "request failed, sending it again");
    await sleep(context.clock, waitMs, options.signal);
  }
}

/** The answer when it is one of success, else null. */
export function successOf(result: Sent): Extract<Sent, { kind: "answer" }> | null {
  return result.kind === "answer" && result.status >= 200 && result.status < 300 ? result : null;
}

export function errorOf(
  context: HttpContext,
  request: ApiRequest,
  options: CallOptions,
  result: Exclude<Sent, { kind: "aborted" }>,
): ApiError | UploadError | ReturnType<typeof lostError> {
  if (result.kind === "answer") return answerError(result, request, context.clock);
  if (result.cause instanceof UploadError) return result.cause;
  return lostError(result, {
    ...request,
    origin: context.base.origin,
    timeoutMs: options.timeoutMs ?? context.timeoutMs,
  });
}

function mayRepeat(
  repeat: Repeat,
  result: Exclude<Sent, { kind: "aborted" }>,
  error: ReturnType<typeof errorOf>,
): boolean {
  if (repeat === "never" || error instanceof UploadError) return false;
  if (result.kind === "lost") return repeat === "always" || !result.sent;
  const refused = error as ApiError;
  if (result.status === 429) return true;
  if (repeat === "unless-done") return result.status === 503 && refused.envelope && refused.retryable;
  return refused.retryable || (!refused.envelope && result.status === 408);
}

/** Reads a body with its schema, or says where it differs from the description. */
export function decode<T>(schema: z.ZodType<T>, body: unknown, request: Pick<ApiRequest, "method" | "path">): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issues =
    body === undefined
      ? ["the body is not JSON"]
      : parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`);
  throw new MalformedResponseError(`${request.method} ${request.path}`, issues, { isJson: body !== undefined });
}

export function urlOf(base: BaseUrl, request: Pick<ApiRequest, "path" | "query">): string {
  const url = new URL(base.href + request.path);
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

function headersOf(context: HttpContext, request: ApiRequest): Record<string, string> {
  const headers: Record<string, string> = {
    authorization: context.authorization,
    accept: "application/json",
    "user-agent": "showrunner",
    ...request.stream?.headers,
  };
  if (request.json !== undefined) headers["content-type"] = "application/json";
  return headers;
}
