import { ShowrunnerError } from "../errors.ts";

/** The folder cannot be recorded to. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
}
