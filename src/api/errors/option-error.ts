import { ShowrunnerError } from "../../errors.ts";

/** The client was given something it cannot work with; nothing was sent. */
export class OptionError extends ShowrunnerError {
  readonly code = "INVALID_OPTION";
}
