import { z } from "zod";
import {
  anyOf,
  arrayOf,
  currency,
  listOf,
  micros,
  number,
  optional,
  optionalMicros,
  text,
  wire,
  withDefault,
} from "../wire.ts";

/** The codes that the description lists. A service may send others; they arrive as plain strings. */
export type ServiceErrorCode =
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "GONE"
  | "ALREADY_EXISTS"
  | "ALREADY_IN_PROGRESS"
  | "UNAUTHORIZED"
  | "PERMISSION_DENIED"
  | "INSUFFICIENT_BALANCE"
  | "MODERATION_FAILED"
  | "FAILED_PRECONDITION"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "RESOURCE_EXHAUSTED"
  | "UNAVAILABLE"
  | "INTERNAL"
  | (string & {});

const detail = wire({
  /** Dotted path with list positions in brackets, such as `input.images[0]`. */
  field: withDefault(z.string(), ""),
  message: withDefault(z.string(), ""),
  /** required, enum, type, minimum, expired and others; null when the service gave none. */
  reason: text,
  allowed: optional(listOf(z.string())),
});

/** One field-level problem of a validation failure. */
export type ErrorDetail = z.output<typeof detail>;

const billing = wire({
  balanceMicros: micros,
  /** Null when the request could not be priced before it was refused. */
  requiredMicros: optionalMicros,
  currency,
  /** Where a person adds funds. */
  fundingUrl: withDefault(z.string(), ""),
  /** `card_declined` or a reason that this version does not know. */
  reason: text,
});

/** Why the wallet refused. Amounts in micro-dollars. */
export type BillingRefusal = z.output<typeof billing>;

export const serviceError = wire(
  {
    code: anyOf<ServiceErrorCode>(),
    /** Fixed per condition and made for people; match on `code`. */
    message: withDefault(z.string(), ""),
    retryable: withDefault(z.boolean(), false),
    /** Milliseconds to wait before the same request may succeed, or null. */
    retryAfterMs: number.transform((seconds) => (seconds === null ? null : Math.max(0, seconds * 1000))),
    param: text,
    details: optional(arrayOf(detail)),
    /** Successor of a retired model. */
    replacedBy: text,
    billing: optional(billing),
  },
  { retryAfterMs: "retry_after" },
);

/** The error object of envelopes, failed jobs and failed outputs, with absent fields filled by their defaults. */
export type ServiceError = z.output<typeof serviceError>;

export const errorEnvelope = wire({ error: serviceError, traceId: text });
