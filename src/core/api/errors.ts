import { z } from "zod";
import type { Answer } from "../answers.ts";
import { ShowrunnerError } from "../kit/errors.ts";
import { transportFailure } from "../network/index.ts";
import {
  arrayOf,
  currency,
  type Field,
  listOf,
  micros,
  number,
  optional,
  optionalMicros,
  text,
  wire,
  withDefault,
} from "./wire.ts";

interface ApiErrorContext {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** False if the response has no error envelope, so it may come from a proxy. */
  readonly envelope: boolean;
  readonly traceId: string | null;
  /** Content type of the response; null if it had none. */
  readonly contentType?: string | null | undefined;
  /** Target of the redirect, without its query; null if the response was not a redirect. */
  readonly location?: string | null | undefined;
  /** The client's own explanation of the error; null if it has none. */
  readonly hint?: { readonly note: string; readonly next: string } | null | undefined;
}

/** The service responded with an error. The request was not retried, or its retries failed too. */
export class ApiError extends ShowrunnerError implements ServiceError {
  readonly code: ServiceErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly param: string | null;
  readonly details: readonly ErrorDetail[] | null;
  readonly replacedBy: string | null;
  readonly billing: BillingRefusal | null;
  readonly traceId: string | null;
  readonly envelope: boolean;
  /** Method and path of the request, such as `POST /models/m`. */
  readonly request: string;
  readonly contentType: string | null;
  readonly location: string | null;
  /** The service's message, without the method and path. */
  readonly serviceMessage: string;
  /** The client's advice on what to do next; null if it has none. */
  readonly next: string | null;

  constructor(error: ServiceError, context: ApiErrorContext) {
    const note = context.hint ? ` ${context.hint.note}` : "";
    super(`${context.method} ${context.path} answered ${context.status} ${error.code}: ${error.message}${note}`);
    this.next = context.hint?.next ?? null;
    this.code = error.code;
    this.serviceMessage = error.message;
    this.status = context.status;
    this.retryable = error.retryable;
    this.retryAfterMs = error.retryAfterMs;
    this.param = error.param;
    this.details = error.details?.map(withoutLabel) ?? null;
    this.replacedBy = error.replacedBy;
    this.billing = error.billing;
    this.traceId = context.traceId;
    this.envelope = context.envelope;
    this.request = `${context.method} ${context.path}`;
    this.contentType = context.contentType ?? null;
    this.location = context.location ?? null;
  }
}

const CODES = [
  ...(["UNKNOWN", "INVALID_ARGUMENT", "NOT_FOUND", "GONE", "ALREADY_EXISTS", "ALREADY_IN_PROGRESS"] as const),
  ...(["UNAUTHORIZED", "PERMISSION_DENIED", "INSUFFICIENT_BALANCE", "MODERATION_FAILED"] as const),
  ...(["FAILED_PRECONDITION", "CANCELLED", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE"] as const),
  "INTERNAL",
] as const;

/** An error code. Codes that this version does not know are passed through unchanged. */
export type ServiceErrorCode = (typeof CODES)[number] | (string & {});

const detail = wire({
  /** Path of the field, such as `input.images[0]`. */
  field: withDefault(z.string(), ""),
  message: withDefault(z.string(), ""),
  /** Why the field was refused, such as `required`, `enum` or `expired`; null if unknown. */
  reason: text,
  allowed: optional(listOf(z.string())),
});

/** A validation error for one field. */
export type ErrorDetail = z.output<typeof detail>;

function withoutLabel(detail: ErrorDetail): ErrorDetail {
  const label = `${detail.field}: `;
  return detail.message.startsWith(label) ? { ...detail, message: detail.message.slice(label.length) } : detail;
}

const billing = wire({
  balanceMicros: micros,
  /** The price of the request; null if unknown. */
  requiredMicros: optionalMicros,
  currency,
  /** The page where a person can add funds. */
  fundingUrl: withDefault(z.string(), ""),
  /** Why the wallet could not pay, such as `card_declined`; null if unknown. */
  reason: text,
});

/** Details of why the wallet could not pay. Amounts are in micro-dollars. */
export type BillingRefusal = z.output<typeof billing>;

const wireError = wire(
  {
    code: text,
    /** The error's type. Chat-completion errors may have a type instead of a code. */
    type: text,
    /** A human-readable message. Programs should check `code`. */
    message: withDefault(z.string(), ""),
    retryable: optional(z.boolean()),
    /** Milliseconds to wait before retrying the request; null if the service specifies no delay. */
    retryAfterMs: number.transform((seconds) => (seconds === null ? null : Math.max(0, seconds * 1000))),
    param: text,
    details: optional(arrayOf(detail)),
    /** Id of the model that replaces a retired model. */
    replacedBy: text,
    billing: optional(billing),
  },
  { retryAfterMs: "retry_after" },
).refine(({ code, type }) => code !== null || type !== null, { message: "the error has neither a code nor a type" });

/** The error in an error response, a failed job or a failed output. */
export type ServiceError = Omit<z.output<typeof wireError>, "code" | "type" | "retryable"> & {
  readonly code: ServiceErrorCode;
  readonly retryable: boolean;
};

export const serviceError: Field<ServiceError> = wireError.transform((error) => named(error, null));
const errorEnvelope = wire({ error: wireError, traceId: text });

export function readEnvelope(
  body: unknown,
  status: number,
): { readonly error: ServiceError; readonly traceId: string | null } | null {
  const parsed = errorEnvelope.safeParse(body);
  return parsed.success ? { error: named(parsed.data.error, status), traceId: parsed.data.traceId } : null;
}

const CODE_OF_STATUS: Readonly<Record<number, ServiceErrorCode>> = {
  ...{ 400: "INVALID_ARGUMENT", 401: "UNAUTHORIZED", 402: "INSUFFICIENT_BALANCE", 403: "PERMISSION_DENIED" },
  ...{ 404: "NOT_FOUND", 410: "GONE", 422: "MODERATION_FAILED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL" },
  ...{ 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED" },
};

/** Converts a chat error's code to a v3 code. Sets `retryable` if it is missing. */
function named({ type, ...error }: z.output<typeof wireError>, status: number | null): ServiceError {
  const name = (error.code ?? type ?? "").toUpperCase();
  const isOwn = error.code === name;
  const code = isOwn || CODES.some((known) => known === name) ? name : (CODE_OF_STATUS[status ?? 0] ?? name);
  return { ...error, code, retryable: error.retryable ?? (!isOwn && (status === 429 || status === 503)) };
}

/** Returns the kind of failure that an error represents; null if no request caused the error. */
export function answerOf(error: unknown): Answer | null {
  if (error instanceof UnknownOutcomeError) return answerOf(error.cause) ?? "lost";
  if (error instanceof ApiError) return error.envelope ? withEnvelope(error) : withoutEnvelope(error.status);
  if (error instanceof MalformedResponseError) return error.isJson ? "2xx other" : "2xx no JSON";
  if (error instanceof TimeoutError) return error.sent ? "timeout" : "connect timeout";
  if (error instanceof ConnectionError) return unanswered(error.sent, error.cause);
  if (error instanceof DownloadError) return fetched(error);
  return null;
}

function withEnvelope(error: ApiError): Answer {
  const { status, retryable } = error;
  if (status >= 500) return status === 503 && retryable ? "503" : "5xx";
  if (status < 400) return "3xx";
  switch (status) {
    case 400:
      return isMediaGone(error) ? "400 media" : "400";
    case 402:
      return retryable ? "402 retryable" : "402";
    case 401:
    case 403:
    case 404:
    case 410:
    case 422:
    case 429:
      return `${status}`;
    case 408:
      return "4xx retryable";
    case 409:
      return retryable ? "409 retryable" : "409";
    default:
      return retryable ? "4xx retryable" : "4xx";
  }
}

/** Returns whether a request was refused because a media file in its input has expired or is unknown. */
export function isMediaGone({ status, details }: ApiError): boolean {
  return status === 400 && (details ?? []).some(({ reason }) => reason === "expired" || reason === "not_found");
}

function withoutEnvelope(status: number): Answer {
  if (status === 511) return "no envelope 511";
  if (status >= 500) return "no envelope 5xx";
  if (status < 400) return "3xx";
  return status === 407 || status === 408 || status === 429 ? `no envelope ${status}` : "no envelope 4xx";
}

function unanswered(sent: boolean, cause: unknown): Answer {
  if (sent) return "lost";
  const failure = transportFailure(cause);
  return failure === "broken" ? "unsent" : failure;
}

function fetched({ reason, status, cause }: DownloadError): Answer | null {
  if (status !== null) return withoutEnvelope(status);
  if (reason !== "incomplete") return null;
  const failure = transportFailure(cause);
  return failure === "broken" ? "lost" : failure;
}

/** A file was refused before it was sent, or could not be read. */
export class UploadError extends ShowrunnerError {
  readonly code = "UPLOAD_REFUSED";
  readonly reason: "missing" | "not-a-file" | "empty" | "too-large" | "wrong-kind" | "changed";

  constructor(message: string, options: { readonly reason: UploadError["reason"]; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.reason = options.reason;
  }
}

/** A submission may have created a paid job, but no response confirms it. */
export class UnknownOutcomeError extends ShowrunnerError {
  readonly code = "UNKNOWN_OUTCOME";
  /** The idempotency key to reuse when submitting again; null if the submission had none. */
  readonly idempotencyKey: string | null;
  readonly model: string;
  /** True if an attempt before the last one may have created the job. */
  readonly earlierSend: boolean;

  constructor(options: {
    readonly model: string;
    readonly idempotencyKey: string | null;
    readonly cause: unknown;
    /** True if an attempt before the last one may have created the job. Default: true. */
    readonly earlierSend?: boolean | undefined;
  }) {
    const how = options.idempotencyKey
      ? `submit again with key ${options.idempotencyKey} and mayExist: true`
      : "look for the job in the list of the model's jobs; without an idempotency key, the submission cannot be repeated safely";
    const why = options.cause instanceof Error ? options.cause.message : String(options.cause);
    super(`The submission to ${options.model} may have created a job (${why}). To find out, ${how}.`, {
      cause: options.cause,
    });
    this.model = options.model;
    this.idempotencyKey = options.idempotencyKey;
    this.earlierSend = options.earlierSend ?? true;
  }
}

/** No complete response arrived within the time limit. The service may still do the work. */
export class TimeoutError extends ShowrunnerError {
  readonly code = "CLIENT_TIMEOUT";
  readonly timeoutMs: number;
  /** False if the time ran out before anything was sent. */
  readonly sent: boolean;

  constructor(
    message: string,
    options: { readonly timeoutMs: number; readonly sent: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.timeoutMs = options.timeoutMs;
    this.sent = options.sent;
  }
}

/** A client option has an invalid value, or an input is not JSON. Nothing was sent. */
export class OptionError extends ShowrunnerError {
  readonly code = "INVALID_OPTION";
  /** Name of the invalid option, if known. Null if the error concerns something else. */
  readonly option: string | null;

  constructor(message: string, options: { readonly option?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.option = options.option ?? null;
  }
}

/**
 * The service reported success, but the response body does not match the API's description. The base URL may be wrong.
 */
export class MalformedResponseError extends ShowrunnerError {
  readonly code = "MALFORMED_RESPONSE";
  /** Where the body differs from the schema, and what was expected instead. */
  readonly issues: readonly string[];
  /** False if the body was not JSON. The response may then come from a proxy or a login page. */
  readonly isJson: boolean;

  constructor(
    where: string,
    issues: readonly string[],
    options: { readonly isJson?: boolean; readonly cause?: unknown } = {},
  ) {
    super(
      `The response to ${where} cannot be read: ${issues.join("; ")}. Check that the base URL belongs to a v3 service.`,
      { cause: options.cause },
    );
    this.issues = issues;
    this.isJson = options.isJson ?? true;
  }
}

/** An output could not be downloaded completely; `reason` says why. No file was left at the target path. */
export class DownloadError extends ShowrunnerError {
  readonly code = "DOWNLOAD_FAILED";
  readonly reason: "expired" | "refused" | "incomplete" | "too-large" | "forbidden-address" | "unsafe-path" | "no-url";
  /** HTTP status of the last response; null if there was none. */
  readonly status: number | null;

  constructor(
    message: string,
    options: { readonly reason: DownloadError["reason"]; readonly status?: number | null; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.reason = options.reason;
    this.status = options.status ?? null;
  }
}

/**
 * The connection failed before a complete response arrived. If `sent` is true, the service may have received the
 * request.
 */
export class ConnectionError extends ShowrunnerError {
  readonly code = "CONNECTION_FAILED";
  readonly sent: boolean;

  constructor(message: string, options: { readonly sent: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}
