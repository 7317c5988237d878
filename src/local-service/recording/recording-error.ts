import { ShowrunnerError } from "../../core/kit/errors.ts";

/** A recording's folder cannot be used. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
  /** The command to type, if a better one is known than by the code. */
  readonly next: string | null;

  constructor(message: string, { next, ...options }: { readonly next?: string; readonly cause?: unknown } = {}) {
    super(message, options);
    this.next = next ?? null;
  }
}
