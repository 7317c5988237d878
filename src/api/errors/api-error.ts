import { ShowrunnerError } from "../../errors.ts";
import type { BillingRefusal, ErrorDetail, ServiceError, ServiceErrorCode } from "./service-error.ts";

export interface ApiErrorContext {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** False when the answer carried no error envelope; such a body may come from a proxy and not from the service. */
  readonly envelope: boolean;
  readonly traceId: string | null;
  /** Content type of the answer, where it named one. */
  readonly contentType?: string | null | undefined;
  /** Where a redirect led to, without query; redirects are never followed. */
  readonly location?: string | null | undefined;
}

/**
 * The service answered with an error. Thrown for every answer outside 2xx once the retries that the request allows are
 * used up. Not thrown when no answer came (`ConnectionError`, `TimeoutError`), nor for a submit that may have been
 * accepted (`UnknownOutcomeError`).
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
  /** Method and path, such as `POST /models/m`. */
  readonly request: string;
  readonly contentType: string | null;
  readonly location: string | null;
  /** The service's own words, without the request around them. */
  readonly serviceMessage: string;

  constructor(error: ServiceError, context: ApiErrorContext) {
    super(`${context.method} ${context.path} answered ${context.status} ${error.code}: ${error.message}`);
    this.code = error.code;
    this.serviceMessage = error.message;
    this.status = context.status;
    this.retryable = error.retryable;
    this.retryAfterMs = error.retryAfterMs;
    this.param = error.param;
    this.details = error.details;
    this.replacedBy = error.replacedBy;
    this.billing = error.billing;
    this.traceId = context.traceId;
    this.envelope = context.envelope;
    this.request = `${context.method} ${context.path}`;
    this.contentType = context.contentType ?? null;
    this.location = context.location ?? null;
  }
}
