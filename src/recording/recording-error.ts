import { ShowrunnerError } from "../errors.ts";

/** A folder that cannot be recorded to, or holds another recording. */
export class RecordingError extends ShowrunnerError {
  readonly code = "RECORDING_UNUSABLE";
}
