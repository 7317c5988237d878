import { ShowrunnerError } from "../../errors.ts";

/** No complete answer within the time allowed. The service may still do the work: a time-out here cancels nothing there. */
export class TimeoutError extends ShowrunnerError {
  readonly code = "CLIENT_TIMEOUT";
  readonly timeoutMs: number;
  /** False when the time ran out before anything was sent. */
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
