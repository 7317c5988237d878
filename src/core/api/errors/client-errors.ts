import { ShowrunnerError } from "../../kit/errors.ts";

/** A file was refused before it was sent, or could not be read. */
export class UploadError extends ShowrunnerError {
  readonly code = "UPLOAD_REFUSED";
  readonly reason: "missing" | "not-a-file" | "empty" | "too-large" | "wrong-kind" | "changed";

  constructor(message: string, options: { readonly reason: UploadError["reason"]; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.reason = options.reason;
  }
}

/**
 * A submission may have created a paid job, but no response confirms it. Submit it again with the same key and
 * `mayExist: true`, never with a new key.
 */
export class UnknownOutcomeError extends ShowrunnerError {
  readonly code = "UNKNOWN_OUTCOME";
  /** The key to submit with again; null if the submission had none. */
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
      : "look for it in the model's job list; without an idempotency key, the submission cannot be repeated safely";
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
  /** Name of the option. Null if the value is not an option of `createClient`. */
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
