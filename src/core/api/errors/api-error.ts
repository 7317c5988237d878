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
  /** False if the response has no error envelope, so it may come from a proxy. */
  readonly envelope: boolean;
  readonly traceId: string | null;
  /** Content type of the response; null if it had none. */
  readonly contentType?: string | null | undefined;
  /** Target of a redirect, without its query; null if there was none. */
  readonly location?: string | null | undefined;
  /** The client's own explanation of the error; null if it has none. */
  readonly hint?: { readonly note: string; readonly next: string } | null | undefined;
}

/** The service responded with an error, and the allowed retries are used up. */
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

/** A validation error of one field. */
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
    /** A message for people. Programs should check `code`. */
    message: withDefault(z.string(), ""),
    retryable: optional(z.boolean()),
    /** Milliseconds to wait before repeating the request; null if the service states none. */
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

/** Converts the codes of chat errors to v3 codes. */
function named({ type, ...error }: z.output<typeof wireError>, status: number | null): ServiceError {
  const name = (error.code ?? type ?? "").toUpperCase();
  const isOwn = error.code === name;
  const code = isOwn || CODES.some((known) => known === name) ? name : (CODE_OF_STATUS[status ?? 0] ?? name);
  return { ...error, code, retryable: error.retryable ?? (!isOwn && (status === 429 || status === 503)) };
}

/** Classifies an error; null if no request caused it. */
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
