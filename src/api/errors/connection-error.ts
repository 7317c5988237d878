import { ShowrunnerError } from "../../errors.ts";

/**
 * No answer, because the connection could not be made or broke. `sent: false` means that the request certainly never
 * left this machine; `sent: true` means that the service may have seen it. A submit with `sent: true` is reported as
 * `UnknownOutcomeError` instead.
 */
export class ConnectionError extends ShowrunnerError {
  readonly code = "CONNECTION_FAILED";
  readonly sent: boolean;

  constructor(message: string, options: { readonly sent: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.sent = options.sent;
  }
}
