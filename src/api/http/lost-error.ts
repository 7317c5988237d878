import { ConnectionError } from "../errors/connection-error.ts";
import { TimeoutError } from "../errors/timeout-error.ts";
import type { Exchange } from "./exchange.ts";
import { codeOf, sayFailure, transportFailure } from "./transport-failure.ts";

/** The thrown form of a request that got no answer. */
export function lostError(
  lost: Extract<Exchange, { kind: "lost" }>,
  request: { readonly method: string; readonly path: string; readonly origin: string; readonly timeoutMs: number },
): ConnectionError | TimeoutError {
  const what = `${request.method} ${request.path}`;
  if (lost.timedOut) {
    return new TimeoutError(`${what} got no complete answer within ${request.timeoutMs} ms`, {
      timeoutMs: request.timeoutMs,
      sent: lost.sent,
      cause: lost.cause,
    });
  }
  const reason = lost.cause instanceof Error ? (codeOf(lost.cause) ?? lost.cause.message) : String(lost.cause);
  const host = request.origin.replace(/^\w+:\/\//, "");
  const message = lost.sent
    ? `${what} lost its connection to ${request.origin} before the answer was complete (${reason})`
    : `${what} could not reach ${request.origin}: ${sayFailure(transportFailure(lost.cause), host, lost.cause)}; is the service running and the base URL right?`;
  return new ConnectionError(message, { sent: lost.sent, cause: lost.cause });
}
