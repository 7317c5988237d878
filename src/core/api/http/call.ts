import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { redactUrls } from "../../kit/clean-text.ts";
import { codeOf, environmentAdvice, unreachedReason } from "../../network/index.ts";
import {
  ApiError,
  ConnectionError,
  MalformedResponseError,
  OptionError,
  readEnvelope,
  TimeoutError,
  UploadError,
} from "../errors.ts";
import { type BaseUrl, checkTimeout, type Settings } from "../options.ts";
import type { Priority } from "../pace/fair-queue.ts";
import type { Pacer, RequestClass } from "../pace/pacer.ts";
import { type Repeat, withRetries } from "../retry.ts";
import {
  type Exchange,
  exchange,
  type HttpMethod,
  headerText,
  retryAfterHeaderMs,
  type Transport,
} from "./transport.ts";

export interface HttpContext extends Settings {
  readonly transport: Transport;
  readonly pacer: Pacer;
}

/** Options for any call. */
export interface CallOptions {
  /** Aborts the call. Work that the service has already started continues. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait for the complete response to one request. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Requests with a higher priority are sent first. Default: 10 for submissions, 5 for uploads, otherwise 0. */
  readonly priority?: Priority | undefined;
}

export interface SendOptions extends CallOptions {
  /** Time, in epoch milliseconds, after which no request is sent. Default: no limit. */
  readonly sendBefore?: number | undefined;
  /** Aborts the call while it is queued or waiting to retry, but not during a request. */
  readonly waitSignal?: AbortSignal | undefined;
}

export interface ApiRequest {
  readonly method: HttpMethod;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | null | undefined>> | undefined;
  readonly json?: unknown;
  /** A streamed body, instead of `json`. Each attempt calls `open`. */
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

export type Sent = Exclude<Exchange, { readonly kind: "answer" }> | ({ readonly kind: "answer" } & ApiAnswer);

export async function send(context: HttpContext, request: ApiRequest, options: SendOptions = {}): Promise<Sent> {
  const slot = {
    requestClass: request.requestClass,
    priority: options.priority ?? request.priority,
    signal: options.signal ?? options.waitSignal,
  };
  const text = checkSending(request, options);
  const result = await context.pacer.run(slot, () =>
    exchange(context.transport.requests, context.clock, {
      method: request.method,
      url: urlOf(context.base, request),
      headers: headersOf(context, request),
      body: request.stream?.open ?? (text === null ? undefined : () => text),
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

/**
 * Returns the body as JSON text; null if there is none. Throws OptionError if the body or the time limit is invalid.
 */
export function checkSending({ json }: Pick<ApiRequest, "json">, { timeoutMs }: CallOptions): string | null {
  checkTimeout(timeoutMs);
  return jsonText(json);
}

function jsonText(value: unknown): string | null {
  if (value === undefined) return null;
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (cause) {
    const [why] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    throw new OptionError(`input is not JSON: ${why}.`, { cause });
  }
  throw new OptionError(`input is not JSON: its type is ${typeof value}.`);
}

export function call(context: HttpContext, request: ApiRequest, options: CallOptions = {}): Promise<ApiAnswer> {
  return withRetries(context, options, async () => {
    const result = await send(context, request, options);
    if (result.kind === "aborted") throw result.reason;
    const answer = successOf(result);
    if (answer) return { value: answer };
    const error = errorOf(context, request, options, result);
    return { error, mayRepeat: mayRepeat(request.repeat, error) };
  });
}

export function successOf(result: Sent): Extract<Sent, { kind: "answer" }> | null {
  return result.kind === "answer" && result.status >= 200 && result.status < 300 ? result : null;
}

export function errorOf(
  context: HttpContext,
  request: Pick<ApiRequest, "method" | "path">,
  options: CallOptions,
  result: Exclude<Sent, { kind: "aborted" }>,
): ApiError | UploadError | ReturnType<typeof lostError> {
  if (result.kind === "answer") return answerError(result, request, context);
  if (result.cause instanceof UploadError) return result.cause;
  return lostError(result, {
    ...request,
    origin: context.base.origin,
    timeoutMs: options.timeoutMs ?? context.timeoutMs,
  });
}

function lostError(
  lost: Extract<Exchange, { kind: "lost" }>,
  request: { readonly method: string; readonly path: string; readonly origin: string; readonly timeoutMs: number },
): ConnectionError | TimeoutError {
  const what = `${request.method} ${request.path}`;
  if (lost.timedOut) {
    return new TimeoutError(`${what} did not receive a complete response within ${request.timeoutMs} ms`, {
      timeoutMs: request.timeoutMs,
      sent: lost.sent,
      cause: lost.cause,
    });
  }
  const reason = lost.cause instanceof Error ? (codeOf(lost.cause) ?? lost.cause.message) : String(lost.cause);
  const message = lost.sent
    ? `${what} lost its connection to ${request.origin} before the response was complete (${reason})`
    : `${what} could not reach ${request.origin}: ${unreachedReason(lost.cause, request.origin)}; ${environmentAdvice(lost.cause, request.origin) ?? "check that the service is running and that the base URL is correct"}`;
  return new ConnectionError(message, { sent: lost.sent, cause: lost.cause });
}

export function mayRepeat(repeat: Repeat, error: ReturnType<typeof errorOf>): boolean {
  if (repeat === "never" || error instanceof UploadError) return false;
  if (!(error instanceof ApiError)) return repeat === "always" || !error.sent;
  if (error.status === 429) return true;
  if (repeat === "unless-done") return [402, 503].includes(error.status) && error.envelope && error.retryable;
  // `deleteJob` has its own retries for this error; other calls fail.
  if (error.code === "ALREADY_IN_PROGRESS") return false;
  return error.retryable || (!error.envelope && error.status === 408);
}

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
    accept: "application/json",
    "user-agent": "showrunner",
    ...request.stream?.headers,
  };
  if (context.authorization !== null) headers.authorization = context.authorization;
  if (request.json !== undefined) headers["content-type"] = "application/json";
  return headers;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as parsed JSON; undefined if it is not JSON. */
  readonly body: unknown;
}

export function answerError(
  answer: Answer,
  request: { readonly method: string; readonly path: string },
  { clock, hint }: Pick<Settings, "clock" | "hint">,
): ApiError {
  const headerWaitMs = retryAfterHeaderMs(answer.headers, clock.now());
  const traceHeader = headerText(answer.headers, "x-trace-id");
  const location = headerText(answer.headers, "location");
  const came = {
    ...request,
    status: answer.status,
    contentType: headerText(answer.headers, "content-type"),
    location: location === null ? null : redactUrls(location),
    hint: hint(answer.status),
  };
  const envelope = readEnvelope(answer.body, answer.status);
  if (envelope !== null) {
    const { error, traceId } = envelope;
    const shouldRetry = headerText(answer.headers, "x-should-retry");
    const retryable = shouldRetry === "true" || (error.retryable && shouldRetry !== "false");
    return new ApiError(
      { ...error, retryable, retryAfterMs: headerWaitMs ?? error.retryAfterMs },
      { ...came, envelope: true, traceId: traceId ?? traceHeader },
    );
  }
  return new ApiError(
    {
      code: "UNKNOWN",
      message: "the response has no error envelope, so it may come from a proxy in front of the service",
      retryable: answer.status === 408 || answer.status === 429 || answer.status >= 500,
      retryAfterMs: headerWaitMs,
      param: null,
      details: null,
      replacedBy: null,
      billing: null,
    },
    { ...came, envelope: false, traceId: traceHeader },
  );
}
