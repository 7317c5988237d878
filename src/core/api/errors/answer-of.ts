import type { Answer } from "../../answers/index.ts";
import { transportFailure } from "../http/transport-failure.ts";
import { ApiError } from "./api-error.ts";
import {
  ConnectionError,
  DownloadError,
  MalformedResponseError,
  TimeoutError,
  UnknownOutcomeError,
} from "./client-errors.ts";

/** Which row of the table of answers an error of the client is; null for what is no answer to a request. */
export function answerOf(error: unknown): Answer | null {
  if (error instanceof UnknownOutcomeError) return answerOf(error.cause) ?? "lost";
  if (error instanceof ApiError) return error.envelope ? withEnvelope(error) : withoutEnvelope(error.status);
  if (error instanceof MalformedResponseError) return error.isJson ? "2xx other" : "2xx no JSON";
  if (error instanceof TimeoutError) return error.sent ? "timeout" : "connect timeout";
  if (error instanceof ConnectionError) return unanswered(error.sent, error.cause);
  if (error instanceof DownloadError) return fetched(error);
  return null;
}

/** The service's own word. */
function withEnvelope(error: ApiError): Answer {
  const { status, retryable } = error;
  if (status >= 500) return status === 503 && retryable ? "503" : "5xx";
  if (status < 400) return "3xx";
  switch (status) {
    case 400:
      return isMediaGone(error) ? "400 media" : "400";
    case 401:
    case 402:
    case 403:
    case 404:
    case 410:
    case 422:
    case 429:
      return `${status}`;
    case 408:
      return "4xx retryable";
    case 409:
      return retryable ? "409 retryable" : "409";
    default:
      return retryable ? "4xx retryable" : "4xx";
  }
}

/** Whether the service refused an input because media in it lapsed, or are not known (any more). */
export function isMediaGone({ status, details }: ApiError): boolean {
  return status === 400 && (details ?? []).some(({ reason }) => reason === "expired" || reason === "not_found");
}

function withoutEnvelope(status: number): Answer {
  if (status === 511) return "no envelope 511";
  if (status >= 500) return "no envelope 5xx";
  if (status < 400) return "3xx";
  return status === 407 || status === 408 || status === 429 ? `no envelope ${status}` : "no envelope 4xx";
}

function unanswered(sent: boolean, cause: unknown): Answer {
  if (sent) return "lost";
  const failure = transportFailure(cause);
  return failure === "broken" ? "unsent" : failure;
}

/** Of the media server, which knows no envelope. */
function fetched({ reason, status, cause }: DownloadError): Answer | null {
  if (status !== null) return withoutEnvelope(status);
  if (reason !== "incomplete") return null;
  const failure = transportFailure(cause);
  return failure === "broken" ? "lost" : failure;
}
