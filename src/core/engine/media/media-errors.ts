import { ShowrunnerError } from "../../kit/errors.ts";

const MEANINGS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the disk is read-only",
  EIO: "the disk failed",
};

/**
 * Media could not be written to this machine's disk. The run stopped and can be resumed; paid results stay on the
 * service.
 */
export class MediaDiskError extends ShowrunnerError {
  readonly code = "MEDIA_DISK";
  readonly next: string;
  constructor(runId: string, cause: NodeJS.ErrnoException) {
    const where = cause.path === undefined ? "" : ` at ${cause.path}`;
    super(
      `The media of run ${runId} could not be written${where}: ${MEANINGS[cause.code ?? ""]} (${cause.code}). Nothing is lost: the outputs are still on the service and will be downloaded again. Free up space, then resume.`,
      { cause },
    );
    this.next = `showrunner resume ${runId}`;
  }
}

export function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === "string" && Object.hasOwn(MEANINGS, code);
}

export function isStoreError(error: unknown): boolean {
  return isDiskError(error) || error instanceof MediaBucketError;
}

/** The media folder cannot be used. */
export class MediaFolderError extends ShowrunnerError {
  readonly code = "MEDIA_FOLDER";

  constructor(dir: string, cause: unknown) {
    super(
      `The media folder ${dir} cannot be created or written to. Make it writable for this user, or choose another folder.`,
      { cause },
    );
  }
}

/** The requested file is not in the media store: it was never there, or was removed. */
export class MediaMissingError extends ShowrunnerError {
  readonly code = "MEDIA_MISSING";
  readonly sha256: string;

  constructor(sha256: string, location: string) {
    super(`${location} has no media with hash ${sha256}. If the file was moved or deleted, put it back, then resume.`);
    this.sha256 = sha256;
  }
}

/**
 * A stored copy of a run's media is damaged or missing, and no other copy exists. The run stopped and can be resumed.
 */
export class MediaLostError extends ShowrunnerError {
  readonly code = "MEDIA_LOST";
  /** The step that must run again. Null if the only remedy is to put the file back. */
  readonly step: string | null;

  constructor(message: string, step: string | null) {
    super(message);
    this.step = step;
  }
}

/**
 * A file cannot be written to the requested path: the path is outside the run's folder, or leads to something other
 * than a file.
 */
export class MediaPathError extends ShowrunnerError {
  readonly code = "MEDIA_PATH";
}

/** Why a bucket could not be used. Only `busy` and `unreachable` may resolve on their own. */
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

/** Media could not be read from, or written to, the shared bucket. Paid results remain on the service. */
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
