import { z } from "zod";
import { type VerdictName, verdictOf } from "../../answers/index.ts";
import { ApiError, answerOf } from "../errors/api-error.ts";
import { MalformedResponseError, OptionError, UnknownOutcomeError } from "../errors/client-errors.ts";
import {
  type ApiRequest,
  type Attempt,
  decode,
  errorOf,
  type HttpContext,
  type SendOptions,
  type Sent,
  send,
  successOf,
  withRetries,
} from "../http/call.ts";
import { headerText } from "../http/headers.ts";
import { resolveServicePath, segment } from "../options.ts";
import { telemetry } from "../telemetry.ts";
import { anyOf, text, wire, withDefault } from "../wire.ts";
import type { JobStatus } from "./jobs.ts";

/** A job to submit. */
export interface SubmitRequest {
  readonly model: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Makes the submission safe to repeat. If the service knows the key, it returns the existing job. */
  readonly idempotencyKey?: string | undefined;
  /** URL to call when this job ends, instead of the account's default webhook. */
  readonly webhook?: string | undefined;
}

const submitAck = wire({
  // Job ids are inserted into URLs, so other characters are not accepted.
  jobId: z.string().regex(/^[\w.:~-]{1,200}$/),
  model: withDefault(z.string(), ""),
  status: anyOf<JobStatus>(),
  statusUrl: text,
  resultUrl: text,
  estimatedCompletionAt: text,
});

/** The service's acknowledgement of a submission. If it is `replayed`, the status may be outdated. */
export interface SubmitAck {
  readonly jobId: string;
  /** The resolved model id, which may differ from the requested one. */
  readonly model: string;
  readonly status: JobStatus;
  /** Absolute URL of the job's status. */
  readonly statusUrl: string;
  /** Absolute URL of the job. */
  readonly resultUrl: string;
  readonly estimatedCompletionAt: string | null;
  /** True if the service already knew the key and created no new job. */
  readonly replayed: boolean;
  /** How many times this call sent the request. */
  readonly sends: number;
}

/** Options for `submit`. */
export interface SubmitOptions extends SendOptions {
  /**
   * True if an earlier submission with this key may have created the job. Failures then throw UnknownOutcomeError.
   * Default: false.
   */
  readonly mayExist?: boolean | undefined;
}

/**
 * Submits a job. Failed requests are repeated only with an idempotency key.
 * @throws UnknownOutcomeError if a job may exist
 */
export function submit(
  context: HttpContext,
  requested: SubmitRequest,
  options: SubmitOptions = {},
): Promise<SubmitAck> {
  return telemetry.span("showrunner.submit", { "showrunner.model": requested.model }, async (span) => {
    const ack = await submitWithRetries(context, requested, options);
    span.set({ "showrunner.job_id": ack.jobId, "showrunner.replayed": ack.replayed });
    return ack;
  });
}

async function submitWithRetries(
  context: HttpContext,
  requested: SubmitRequest,
  options: SubmitOptions,
): Promise<SubmitAck> {
  const request = requestOf(requested);
  const key = requested.idempotencyKey ?? null;
  let unknown = options.mayExist ?? false;
  let earlierSend = unknown;
  let sends = 0;
  const attempt = async (): Promise<Attempt<SubmitAck>> => {
    sends++;
    earlierSend = unknown;
    const result = await send(context, request, options);
    if (result.kind === "aborted") {
      unknown ||= result.sent;
      throw result.reason;
    }
    const judged = judge(context, request, options, result);
    if ("ack" in judged) return { value: { ...judged.ack, sends } };
    unknown ||= judged.unknown;
    return { ...judged, mayRepeat: judged.mayRepeat && key !== null, note: { model: requested.model, unknown } };
  };
  return withRetries(context, options, attempt).catch((cause: unknown) => {
    throw unknown && !(cause instanceof OptionError)
      ? new UnknownOutcomeError({ model: requested.model, idempotencyKey: key, cause, earlierSend })
      : cause;
  });
}

function requestOf(requested: SubmitRequest): ApiRequest {
  return {
    method: "POST",
    path: `/models/${segment(requested.model)}`,
    json: { input: requested.input, idempotency_key: requested.idempotencyKey, webhook: requested.webhook },
    requestClass: "submit",
    repeat: requested.idempotencyKey === undefined ? "never" : "always",
    priority: 10,
  };
}

type Judgement =
  | { readonly ack: Omit<SubmitAck, "sends"> }
  | { readonly unknown: boolean; readonly error: Error; readonly mayRepeat: boolean };

function judge(
  context: HttpContext,
  request: ApiRequest,
  options: SendOptions,
  result: Exclude<Sent, { kind: "aborted" }>,
): Judgement {
  const answer = successOf(result);
  if (answer) return judgeSuccess(context, request, answer);
  const error = errorOf(context, request, options, result);
  if (!(error instanceof ApiError)) return { unknown: "sent" in error && error.sent, error, mayRepeat: true };
  const { status } = error;
  const unknown = !ownRefusals.has(verdictOf("submit", answerOf(error)!));
  const mayRepeat = status === 408 || status === 429 || status >= 500 || (status === 402 && error.retryable);
  return { unknown, error, mayRepeat };
}

/** These verdicts on a first submission prove that it created no job. */
const ownRefusals: ReadonlySet<VerdictName> = new Set([
  "refused",
  "media renewed",
  "unfunded",
  "out of scope",
  "caller refused",
  "limited",
]);

/** If the acknowledgement cannot be parsed, a job may still exist. */
function judgeSuccess(context: HttpContext, request: ApiRequest, answer: Extract<Sent, { kind: "answer" }>): Judgement {
  try {
    const { statusUrl, resultUrl, ...ack } = decode(submitAck, answer.body, request);
    const resultPath = resultUrl ?? headerText(answer.headers, "location");
    const jobPath = `${context.base.href}/jobs/${segment(ack.jobId)}`;
    return {
      ack: {
        ...ack,
        statusUrl: (statusUrl && resolveServicePath(context.base, statusUrl)) || `${jobPath}/status`,
        resultUrl: (resultPath && resolveServicePath(context.base, resultPath)) || jobPath,
        replayed: headerText(answer.headers, "x-idempotent-replayed")?.toLowerCase() === "true",
      },
    };
  } catch (error) {
    if (!(error instanceof MalformedResponseError)) throw error;
    return { unknown: true, error, mayRepeat: true };
  }
}
