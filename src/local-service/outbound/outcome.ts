import type { ErrorCode } from "../http/refusal.ts";

/** The outcome of one POST to an external server. */
export type Outcome =
  | { readonly is: "answered"; readonly status: number }
  /** The address is forbidden; nothing was sent. */
  | { readonly is: "blocked" }
  /** No answer within the time limit. */
  | { readonly is: "late" }
  /** No such host, no connection, or a connection closed before the response. */
  | { readonly is: "unreachable" }
  /** The body could not be built, so nothing was sent. */
  | { readonly is: "no-body" };

/** Failure messages for callers: fixed per code, revealing nothing of the destination or its response. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
}

const FAILURES = {
  DEADLINE_EXCEEDED: ["The destination did not answer in time.", true],
  UNAVAILABLE: ["The destination could not be reached, redirected, or failed.", true],
  RESOURCE_EXHAUSTED: ["The destination asked for fewer requests.", true],
  UNAUTHORIZED: ["The destination asked for a credential.", false],
  PERMISSION_DENIED: ["The destination refused the request.", false],
  NOT_FOUND: ["The destination was not found.", false],
  INVALID_ARGUMENT: ["The destination did not accept the request.", false],
  FAILED_PRECONDITION: ["The destination's address may not be reached from here.", false],
  INTERNAL: ["The request's body could not be made.", true],
  UNKNOWN: ["The request failed for an unknown reason.", true],
} as const satisfies Partial<Record<ErrorCode, readonly [string, boolean]>>;

export type FailureCode = keyof typeof FAILURES;

export function failureOf(code: FailureCode): Failure {
  const [message, retryable] = FAILURES[code];
  return { code, message, retryable };
}

const BY_STATUS = new Map<number, FailureCode>([
  [401, "UNAUTHORIZED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [429, "RESOURCE_EXHAUSTED"],
]);

function codeOfStatus(status: number): FailureCode | null {
  if (status >= 200 && status < 300) return null;
  const known = BY_STATUS.get(status);
  if (known) return known;
  if (status >= 400 && status < 500) return "INVALID_ARGUMENT";
  return (status >= 300 && status < 400) || (status >= 500 && status < 600) ? "UNAVAILABLE" : "UNKNOWN";
}

/** The code of a failed POST; null for a 2xx. */
export function codeOf(outcome: Outcome): FailureCode | null {
  switch (outcome.is) {
    case "answered":
      return codeOfStatus(outcome.status);
    case "blocked":
      return "FAILED_PRECONDITION";
    case "late":
      return "DEADLINE_EXCEEDED";
    case "unreachable":
      return "UNAVAILABLE";
    case "no-body":
      return "INTERNAL";
    default:
      return outcome satisfies never;
  }
}

/** The HTTP status, if there was a response. */
export function statusOf(outcome: Outcome): number | null {
  return outcome.is === "answered" ? outcome.status : null;
}

/** The caller's result of a test POST. Null means that the service closed first. */
export function testResult(outcome: Outcome | null) {
  const code = outcome === null ? "UNKNOWN" : codeOf(outcome);
  return {
    ok: code === null,
    response_status: outcome === null ? null : statusOf(outcome),
    error: code === null ? null : `${code}: ${failureOf(code).message}`,
  };
}
