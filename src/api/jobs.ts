import { segment } from "./base-url.ts";
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
import { pageOf } from "./wire/page.ts";

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

/**
 * Deletes a finished job's outputs for good. A 503 is sent again until the deletion is complete; 409 while it or a job
 * that reads its output is running, and 400 for a voice clone, are thrown.
 */
export async function deleteJob(context: HttpContext, jobId: string, options?: CallOptions): Promise<void> {
  await call(context, apiRequest("DELETE", `/jobs/${segment(jobId)}`), options);
}
