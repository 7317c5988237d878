import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../clock.ts";
import { ApiError } from "../errors/api-error.ts";
import { redactUrls } from "../redact.ts";
import { errorEnvelope } from "../wire/service-error.ts";
import { headerText, retryAfterHeaderMs } from "./headers.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; undefined where it is no JSON. */
  readonly body: unknown;
}

/** The typed error of an answer outside 2xx, also when its body is no envelope. */
export function answerError(
  answer: Answer,
  request: { readonly method: string; readonly path: string },
  clock: Clock,
): ApiError {
  const headerWaitMs = retryAfterHeaderMs(answer.headers, clock);
  const traceHeader = headerText(answer.headers, "x-trace-id");
  const location = headerText(answer.headers, "location");
  const came = {
    ...{ ...request, status: answer.status, contentType: headerText(answer.headers, "content-type") },
    location: location === null ? null : redactUrls(location),
  };
  const parsed = errorEnvelope.safeParse(answer.body);
  if (parsed.success) {
    const { error, trace_id } = parsed.data;
    return new ApiError(
      { ...error, retryAfterMs: headerWaitMs ?? error.retryAfterMs },
      { ...came, envelope: true, traceId: trace_id ?? traceHeader },
    );
  }
  return new ApiError(
    {
      code: "UNKNOWN",
      message: "the answer carried no error envelope, so it may come from a proxy before the service",
      retryable: answer.status === 408 || answer.status === 429 || answer.status >= 500,
      retryAfterMs: headerWaitMs,
      param: null,
      details: null,
      replacedBy: null,
      billing: null,
    },
    { ...came, envelope: false, traceId: traceHeader },
  );
}
