import { ShowrunnerError } from "../../core/kit/errors.ts";

/** A recording's folder cannot be used. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
  /** A command to run next, if it is more specific than the command that the code suggests; otherwise null. */
  readonly next: string | null;

  constructor(message: string, { next, ...options }: { readonly next?: string; readonly cause?: unknown } = {}) {
    super(message, options);
    this.next = next ?? null;
  }
}
