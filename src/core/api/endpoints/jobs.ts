import { z } from "zod";
import { type VerdictName, verdictOf } from "../../answers.ts";
import { sleep } from "../clock.ts";
import {
  ApiError,
  answerOf,
  MalformedResponseError,
  OptionError,
  serviceError,
  UnknownOutcomeError,
} from "../errors.ts";
import {
  type ApiRequest,
  type CallOptions,
  decode,
  errorOf,
  type HttpContext,
  type SendOptions,
  type Sent,
  send,
  successOf,
} from "../http/call.ts";
import { type Endpoints, endpointsOf, type Listing, type PageQuery } from "../http/endpoints.ts";
import { headerText } from "../http/transport.ts";
import { resolveServicePath, segment } from "../options.ts";
import { type Attempt, withRetries } from "../retry.ts";
import { telemetry } from "../telemetry.ts";
import {
  anyOf,
  anything,
  arrayOf,
  chargeOf,
  listOf,
  number,
  optional,
  pageOf,
  record,
  text,
  wire,
  withDefault,
} from "../wire.ts";

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

/** The service's acknowledgment of a submission. If `replayed` is true, the status may be outdated. */
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
  /** True if the service already knew the idempotency key and created no new job. */
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
 * Submits a job. A failed request is retried only if it has an idempotency key.
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

/** Verdicts that prove that a first submission created no job. */
const ownRefusals: ReadonlySet<VerdictName> = new Set([
  "refused",
  "media renewed",
  "unfunded",
  "out of scope",
  "caller refused",
  "limited",
]);

/** Parses the response to a successful submission. If that fails, returns `unknown`, because the job may exist. */
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

/** A job's status. A status that this version does not know is passed through unchanged. */
export type JobStatus = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | (string & {});
const jobStatus = anyOf<JobStatus>();
/** Status of one output. Unknown values from a newer service are passed through unchanged. */
export type OutputStatus = "COMPLETED" | "FAILED" | "EXPIRED" | (string & {});

const output = wire({
  status: withDefault(anyOf<OutputStatus>(), "COMPLETED"),
  assetId: text,
  voiceId: text,
  /** A presigned URL: anyone who has it can read the file. Keep it out of logs and databases. */
  url: text,
  contentType: text,
  width: number,
  height: number,
  durationMs: number,
  /** Frames per second; null until the service has analyzed the video. */
  fps: number,
  /** When the service deletes the output, as an ISO 8601 timestamp; null if unknown. */
  expiresAt: text,
  error: optional(serviceError),
});

/** One output of a job. Sizes are in pixels, times in milliseconds. */
export type Output = z.output<typeof output> & { readonly index: number };

export const logEvent = wire({
  id: z.coerce.number(),
  timestamp: text,
  level: withDefault(z.string(), "info"),
  event: withDefault(z.string(), ""),
  message: withDefault(z.string(), ""),
  source: text,
  data: record.transform((data) => data ?? {}),
});

/** An entry of a job's log. The ids increase within a job. */
export type LogEvent = z.output<typeof logEvent>;

const summaryFields = {
  jobId: z.string(),
  model: withDefault(z.string(), ""),
  quality: text,
  status: jobStatus,
  /** The charge minus refunds. It may still be missing when the job has ended. */
  cost: anything,
  currency: withDefault(z.string(), "USD").catch(""),
  createdAt: text,
  completedAt: text,
};

const withCharge = <T extends { readonly cost?: unknown; readonly currency: string }>({ cost, ...job }: T) => ({
  ...job,
  ...chargeOf({ cost, currency: job.currency }),
});

const jobSummary = wire(summaryFields).transform(withCharge);
/** A job as it appears in lists. */
export type JobSummary = z.output<typeof jobSummary>;

export const jobResult = wire({
  ...summaryFields,
  prompt: text,
  /** The key that the job was submitted with; null if the service does not report it. */
  idempotencyKey: text,
  outputs: listOf(output).transform((outputs): readonly Output[] => outputs.map((item, index) => ({ index, ...item }))),
  /** Durations in milliseconds. `timeToFirstTokenMs` is null except for chat jobs. */
  metrics: optional(wire({ processingTimeMs: number, timeToFirstTokenMs: number })),
  /** Token counts of a chat job; null for other jobs. */
  usage: optional(wire({ promptTokens: number, completionTokens: number, reasoningTokens: number })),
  error: optional(serviceError),
  /** Log events; null if the service returns none. */
  logs: optional(arrayOf(logEvent)),
}).transform(withCharge);
/** A job with its outputs. */
export type JobResult = z.output<typeof jobResult>;

export const jobStatusView = wire({
  jobId: z.string(),
  status: jobStatus,
  /** Progress from 0 to 1; null if unknown. */
  progress: number,
  estimatedCompletionAt: text,
  /** Log events after the requested cursor; empty if no cursor was requested. */
  logs: listOf(logEvent),
  /** Cursor for the next request. If it is null, continue to use the previous cursor. */
  logsNextCursor: text,
});
/** Status and progress of a job. */
export type JobStatusView = z.output<typeof jobStatusView>;

/** Options for `status`. */
export interface StatusOptions extends CallOptions {
  /** Cursor after which log events are returned; `start` returns all of them. Default: no log events. */
  readonly logsAfter?: string | null | undefined;
}

/** Options for `deleteJob`. */
export interface DeleteOptions extends CallOptions {
  /**
   * Whether to wait until this job and all jobs that use its outputs have ended, for at most `retry.maxElapsedMs`.
   * Default: true.
   */
  readonly waitForRunning?: boolean | undefined;
}

/** Reads and deletes jobs. */
export interface JobsApi {
  /** Returns a job with its outputs, whose URLs are freshly signed. */
  job(jobId: string, options?: CallOptions): Promise<JobResult>;
  /** Returns the job's status and progress. */
  status(jobId: string, options?: StatusOptions): Promise<JobStatusView>;
  /** Lists the job's log events. */
  logs(jobId: string, query?: PageQuery, options?: CallOptions): Listing<LogEvent>;
  /** Lists the account's jobs, newest first. */
  jobs(query?: PageQuery, options?: CallOptions): Listing<JobSummary>;
  /** Permanently deletes the outputs of a finished job. Deleting them again is not an error. */
  deleteJob(jobId: string, options?: DeleteOptions): Promise<void>;
}

export const jobPage = pageOf(jobSummary);
const logPage = pageOf(logEvent);
const pathOf = (jobId: string) => `/jobs/${segment(jobId)}`;

export function jobsApi(context: HttpContext, api: Endpoints = endpointsOf(context)): JobsApi {
  return {
    job: (jobId, options) => api.get(jobResult, pathOf(jobId), options),
    status: (jobId, options) =>
      api.get(jobStatusView, `${pathOf(jobId)}/status`, options, { logs_after: options?.logsAfter }),
    logs: (jobId, query, options) => api.list(logPage, `${pathOf(jobId)}/logs`, query, options),
    jobs: (query, options) => api.list(jobPage, "/jobs", query, options),
    deleteJob: (jobId, options) => deleteJob(context, () => api.delete(pathOf(jobId), options), options),
  };
}

const [busyMs, longestBusyMs] = [2_000, 30_000];

async function deleteJob(
  { clock, retry }: HttpContext,
  send: () => Promise<void>,
  { waitForRunning = true, signal }: DeleteOptions = {},
): Promise<void> {
  const giveUpAt = clock.now() + retry.maxElapsedMs;
  for (let stepMs = busyMs; ; stepMs = Math.min(stepMs * 2, longestBusyMs)) {
    let waitMs = stepMs;
    try {
      return await send();
    } catch (error) {
      const busy = error instanceof ApiError && error.code === "ALREADY_IN_PROGRESS";
      if (busy) waitMs = error.retryAfterMs ?? stepMs;
      if (!busy || !waitForRunning || clock.now() + waitMs > giveUpAt) throw error;
    }
    await sleep(clock, waitMs, signal);
  }
}
