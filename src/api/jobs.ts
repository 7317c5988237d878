import { segment } from "./base-url.ts";
import { sleep } from "./clock.ts";
import { ApiError } from "./errors/api-error.ts";
import { type CallOptions, call, type HttpContext } from "./http/call.ts";
import { apiRequest, fetchAs } from "./http/endpoint.ts";
import { type Listing, listing } from "./paging.ts";
import {
  type JobResult,
  type JobStatusView,
  type JobSummary,
  jobResult,
  jobStatusView,
  jobSummary,
  type LogEvent,
  logEvent,
} from "./wire/job.ts";
import { pageOf } from "./wire/lenient.ts";

/** Which part of a list to read. */
export interface PageQuery {
  /** Items a page, 1 to 100. The service's default is 20. */
  readonly limit?: number | undefined;
  /** From the page before; absent for the first page. */
  readonly cursor?: string | null | undefined;
}

export interface StatusOptions extends CallOptions {
  /** Also return events newer than this cursor; `start` for all of them. */
  readonly logsAfter?: string | null | undefined;
}

const summaries = pageOf(jobSummary);
const logEvents = pageOf(logEvent);

export function readJob(context: HttpContext, jobId: string, options?: CallOptions): Promise<JobResult> {
  return fetchAs(context, jobResult, apiRequest("GET", `/jobs/${segment(jobId)}`), options);
}

export function readStatus(context: HttpContext, jobId: string, options: StatusOptions = {}): Promise<JobStatusView> {
  const request = apiRequest("GET", `/jobs/${segment(jobId)}/status`, { query: { logs_after: options.logsAfter } });
  return fetchAs(context, jobStatusView, request, options);
}

export function listLogs(
  context: HttpContext,
  jobId: string,
  query: PageQuery = {},
  options?: CallOptions,
): Listing<LogEvent> {
  const path = `/jobs/${segment(jobId)}/logs`;
  const read = (cursor: string | null) =>
    fetchAs(context, logEvents, apiRequest("GET", path, { query: { limit: query.limit, cursor } }), options);
  return listing(read, query.cursor);
}

export function listJobs(
  context: HttpContext,
  path: string,
  query: PageQuery = {},
  options?: CallOptions,
): Listing<JobSummary> {
  const read = (cursor: string | null) =>
    fetchAs(context, summaries, apiRequest("GET", path, { query: { limit: query.limit, cursor } }), options);
  return listing(read, query.cursor);
}

export interface DeleteOptions extends CallOptions {
  /** Wait while the job, or one that reads its output, still runs, up to the client's `retry.maxElapsedMs`. Default true. */
  readonly waitForRunning?: boolean | undefined;
}

/** Between two tries while something still runs: shortest and longest distance. */
const [busyMs, longestBusyMs] = [2_000, 30_000];

/**
 * Deletes a finished job's outputs for good; deleting twice is no error. A 503 is sent again until the deletion is
 * complete, a 409 while something still runs is waited out, and the 400 for a voice clone is thrown at once.
 */
export async function deleteJob(context: HttpContext, jobId: string, options: DeleteOptions = {}): Promise<void> {
  const request = apiRequest("DELETE", `/jobs/${segment(jobId)}`);
  const giveUpAt = context.clock.now() + context.retry.maxElapsedMs;
  for (let waitMs = busyMs; ; waitMs = Math.min(waitMs * 2, longestBusyMs)) {
    try {
      await call(context, request, options);
      return;
    } catch (error) {
      const busy = error instanceof ApiError && error.code === "ALREADY_IN_PROGRESS";
      if (!busy || options.waitForRunning === false || context.clock.now() + waitMs > giveUpAt) throw error;
    }
    await sleep(context.clock, waitMs, options.signal);
  }
}
