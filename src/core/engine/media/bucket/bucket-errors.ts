import { ShowrunnerError } from "../../../kit/errors.ts";

/** Why a bucket could not be used. Only `busy` and `unreachable` may go away without any change. */
export type BucketFailure =
  | "busy"
  | "unreachable"
  | "credentials"
  | "denied"
  | "clock"
  | "missing"
  | "region"
  | "damaged"
  | "refused";

/** Media could not be read from, or written to, the shared bucket. Paid results stay on the service meanwhile. */
export class MediaBucketError extends ShowrunnerError {
  readonly code = "MEDIA_BUCKET";
  readonly reason: BucketFailure;
  readonly next: string;

  constructor(
    message: string,
    options: { readonly reason: BucketFailure; readonly next: string; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.reason = options.reason;
    this.next = options.next;
  }
}

const DOCTOR = "showrunner doctor";

export function damagedBucket(message: string): MediaBucketError {
  return new MediaBucketError(message, { reason: "damaged", next: DOCTOR });
}

const BUSY = new Set([
  "SlowDown",
  "RequestLimitExceeded",
  "TooManyRequestsException",
  "ThrottlingException",
  "Throttling",
]);
const CREDENTIALS = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "ExpiredToken",
  "ExpiredTokenException",
  "InvalidToken",
  "TokenRefreshRequired",
  "CredentialsProviderError",
  "TokenProviderError",
  "RequestExpired",
]);

export function bucketError(cause: unknown, doing: string, location: string): MediaBucketError {
  if (cause instanceof MediaBucketError) return cause;
  const { name, code, $metadata } = cause as Error & {
    readonly code?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const { reason, why, next } = failureReason(name, status);
  const text = [status, name === "Error" ? code : name].filter((part) => part !== undefined).join(" ");
  return new MediaBucketError(`${doing} ${location} failed: ${why}${text === "" ? "" : ` (${text})`}.`, {
    reason,
    next,
    cause,
  });
}

interface FailureReason {
  readonly reason: BucketFailure;
  readonly why: string;
  readonly next: string;
}

function failureReason(name: string, status: number | undefined): FailureReason {
  if (name === "NoSuchBucket")
    return { reason: "missing", why: "the bucket does not exist; create it or correct SHOWRUNNER_MEDIA", next: DOCTOR };
  if (name === "RequestTimeTooSkewed")
    return { reason: "clock", why: "this machine's clock is wrong; synchronize it (NTP), then resume", next: DOCTOR };
  if (CREDENTIALS.has(name)) {
    const why = "the credentials were rejected; renew them (AWS environment variables, profile or role), then resume";
    return { reason: "credentials", why, next: DOCTOR };
  }
  if (status === 301 || name === "PermanentRedirect" || name === "AuthorizationHeaderMalformed")
    return { reason: "region", why: "the bucket is in another region; add ?region=NAME to its URL", next: DOCTOR };
  if (status === 403)
    return {
      reason: "denied",
      why: "the credentials do not allow this; see the policy in docs/shared-media.md",
      next: DOCTOR,
    };
  if (BUSY.has(name) || status === 429 || (status !== undefined && status >= 500))
    return { reason: "busy", why: "the store was still overloaded after several tries; resume later", next: DOCTOR };
  if (status === undefined)
    return {
      reason: "unreachable",
      why: "no complete response arrived; check the network and the endpoint, then resume",
      next: DOCTOR,
    };
  return { reason: "refused", why: "the store refused the request", next: DOCTOR };
}
