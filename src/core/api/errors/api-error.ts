import { z } from "zod";
import type { Answer } from "../../answers/index.ts";
import { ShowrunnerError } from "../../kit/errors.ts";
import { transportFailure } from "../../network/index.ts";
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
} from "../wire.ts";
import {
  ConnectionError,
  DownloadError,
  MalformedResponseError,
  TimeoutError,
  UnknownOutcomeError,
} from "./client-errors.ts";

export interface ApiErrorContext {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** False if the response had no error envelope. The response may then come from a proxy, not from the service. */
  readonly envelope: boolean;
  readonly traceId: string | null;
  /** Content type of the response; null if it had none. */
  readonly contentType?: string | null | undefined;
  /** Target of a redirect, without its query. The client never follows redirects. */
  readonly location?: string | null | undefined;
  /** The client's own explanation of the error; null if it has none. */
  readonly hint?: { readonly note: string; readonly next: string } | null | undefined;
}

/**
 * The service responded with an error. Thrown for every response outside 2xx once the allowed retries are used up. If
 * no response arrived, `ConnectionError` or `TimeoutError` is thrown instead. If a submission may have been accepted,
 * `UnknownOutcomeError` is thrown.
 */
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
  /** The service's message, without the method and path that `message` adds. */
  readonly serviceMessage: string;
  /** Advice, for example about a key for another API; null if the client has none. */
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

/** An error code that the API's description lists. Any other code is passed on as a string. */
export type ServiceErrorCode = (typeof CODES)[number] | (string & {});

const detail = wire({
  /** Path of the field, with dots and with list indexes in brackets: `input.images[0]`. */
  field: withDefault(z.string(), ""),
  message: withDefault(z.string(), ""),
  /** The reason, such as `required`, `enum`, `type`, `minimum` or `expired`; null if the service gave none. */
  reason: text,
  allowed: optional(listOf(z.string())),
});

/** A validation error of one field. */
export type ErrorDetail = z.output<typeof detail>;

/** Some services repeat the field's name at the start of the message. */
function withoutLabel(detail: ErrorDetail): ErrorDetail {
  const label = `${detail.field}: `;
  return detail.message.startsWith(label) ? { ...detail, message: detail.message.slice(label.length) } : detail;
}

const billing = wire({
  balanceMicros: micros,
  /** The price of the request; null if it was refused before it could be priced. */
  requiredMicros: optionalMicros,
  currency,
  /** The page where a person can add funds. */
  fundingUrl: withDefault(z.string(), ""),
  /** The reason, such as `card_declined`, or a newer reason that this version does not recognize. */
  reason: text,
});

/** Details of why the wallet could not pay. Amounts are in micro-dollars. */
export type BillingRefusal = z.output<typeof billing>;

const wireError = wire(
  {
    code: text,
    /** The error's type. Errors in the chat-completions format have a type, with or without a code. */
    type: text,
    /** A text for people. Programs should check `code` instead. */
    message: withDefault(z.string(), ""),
    retryable: optional(z.boolean()),
    /** Milliseconds to wait before repeating the request; null if the service does not state it. */
    retryAfterMs: number.transform((seconds) => (seconds === null ? null : Math.max(0, seconds * 1000))),
    param: text,
    details: optional(arrayOf(detail)),
    /** Id of the model that replaces a retired model. */
    replacedBy: text,
    billing: optional(billing),
  },
  { retryAfterMs: "retry_after" },
).refine(({ code, type }) => code !== null || type !== null, { message: "the error has neither a code nor a type" });

/** The error object of error responses, failed jobs and failed outputs. Absent fields have their defaults. */
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

/**
 * Sets an error's v3 code. Codes in the chat format are lower-case. If v3 has no such code, the status determines it.
 */
function named({ type, ...error }: z.output<typeof wireError>, status: number | null): ServiceError {
  const name = (error.code ?? type ?? "").toUpperCase();
  const isOwn = error.code === name;
  const code = isOwn || CODES.some((known) => known === name) ? name : (CODE_OF_STATUS[status ?? 0] ?? name);
  return { ...error, code, retryable: error.retryable ?? (!isOwn && (status === 429 || status === 503)) };
}

/** Returns the error's name in the table of answers. Null for an error that no request caused. */
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

/** True if the service refused an input because a media file in the input has expired or is unknown. */
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

/** The media server sends no error envelope. */
function fetched({ reason, status, cause }: DownloadError): Answer | null {
  if (status !== null) return withoutEnvelope(status);
  if (reason !== "incomplete") return null;
  const failure = transportFailure(cause);
  return failure === "broken" ? "lost" : failure;
}
