import { ShowrunnerError } from "../../errors.ts";

/** The bytes of an output could not be fetched whole. `reason` says why; nothing was left at the target path. */
export class DownloadError extends ShowrunnerError {
  readonly code = "DOWNLOAD_FAILED";
  readonly reason: "expired" | "refused" | "incomplete" | "too-large" | "forbidden-address" | "unsafe-path" | "no-url";
  /** HTTP status of the last answer, or null when there was none. */
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
