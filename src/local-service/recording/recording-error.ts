import { ShowrunnerError } from "../../core/kit/errors.ts";

/** A recording's folder or port cannot be used. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
  /** The command to run next, or null for the usual command of the error code. */
  readonly next: string | null;

  constructor(message: string, { next, ...options }: { readonly next?: string; readonly cause?: unknown } = {}) {
    super(message, options);
    this.next = next ?? null;
  }
}
