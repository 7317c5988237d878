import { ApiError, ConnectionError, MalformedResponseError, redactUrls, TimeoutError } from "../../api/index.ts";
import { ShowrunnerError } from "../../errors.ts";
import type { JournalError } from "../../journal/events.ts";

/** How long to leave a service alone that could not be reached or was overloaded. */
export const TROUBLE_WAIT_MS = 5_000;

/** The key does not work (any more): nothing about the run is wrong, so it stays resumable. */
export class AccountError extends ShowrunnerError {
  readonly code = "ACCOUNT_REFUSED";
  constructor(cause: ApiError) {
    super(
      `The service refused the API key (${cause.code}: ${redactUrls(cause.message)}). Check SHOWRUNNER_API_KEY and its scopes; the run is kept and can be resumed.`,
      { cause },
    );
  }
}

/** True for a failure that a later try may not meet: the network, an overload, an answer that made no sense. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 408 || error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError || error instanceof TimeoutError || error instanceof MalformedResponseError;
}

/** Rethrows what no step can be blamed for: a refused key. */
export function throwAccountTrouble(error: unknown): void {
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) throw new AccountError(error);
}

/** The service's error as the journal keeps it: what it says may quote the presigned URLs that it was sent. */
export function journalError(error: unknown): JournalError {
  if (error instanceof ApiError) {
    const details = error.details ?? [];
    const reasons = details.flatMap((detail) => (detail.reason === null ? [] : [detail.reason]));
    const fields = details.map((detail) => detail.message).join("; ");
    const said = error.serviceMessage;
    const message = fields === "" || said.includes(fields) ? said : `${said} ${fields}`;
    return { code: error.code, message: redactUrls(message), retryable: error.retryable, reasons };
  }
  const message = redactUrls(error instanceof Error ? error.message : String(error));
  return { code: error instanceof ShowrunnerError ? error.code : "UNKNOWN", message, retryable: false };
}
