import { z } from "zod";
import { sleep } from "../clock.ts";
import { ApiError, serviceError } from "../errors/api-error.ts";
import type { CallOptions, HttpContext } from "../http/call.ts";
import { type Endpoints, endpointsOf, type Listing, type PageQuery } from "../http/endpoints.ts";
import { segment } from "../options.ts";
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
  /** Log events after the requested cursor; empty if none was requested. */
  logs: listOf(logEvent),
  /** Cursor for the next request. If null, keep using the previous one. */
  logsNextCursor: text,
});
/** Status and progress of a job. */
export type JobStatusView = z.output<typeof jobStatusView>;

/** Options for `status`. */
export interface StatusOptions extends CallOptions {
  /** Requests the log events after this cursor as well; `start` requests all of them. Default: no log events. */
  readonly logsAfter?: string | null | undefined;
}

/** Options for `deleteJob`. */
export interface DeleteOptions extends CallOptions {
  /**
   * Whether to wait, for at most `retry.maxElapsedMs`, while this job or a job that uses its outputs is unfinished.
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
