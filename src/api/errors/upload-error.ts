import { ShowrunnerError } from "../../errors.ts";

/** A file was refused before anything was sent, or could not be read. */
export class UploadError extends ShowrunnerError {
  readonly code = "UPLOAD_REFUSED";
  readonly reason: "missing" | "not-a-file" | "empty" | "too-large" | "wrong-kind" | "changed";

  constructor(message: string, options: { readonly reason: UploadError["reason"]; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.reason = options.reason;
  }
}
