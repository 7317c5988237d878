import { empty, json, PAGE_QUERY, type Specs } from "../operation-spec.ts";
import { pageOf, refTo } from "../schema.ts";
import { TAGS } from "../tags.ts";

const tag = TAGS.jobs;

const STREAM = `Frames: \`status\` (a JobStatus), \`log\` (a LogEvent), and \`done\` whose data is [STREAM_DONE]. Send the id of the
last frame as Last-Event-ID to go on after it. An end without done was cut short: connect again.`;

export const jobOperations: Specs = {
  "GET /jobs": {
    tag,
    operationId: "list_jobs",
    query: PAGE_QUERY,
    success: json(pageOf("JobSummary"), "A page of jobs, newest first."),
  },
  "GET /jobs/{job_id}": { tag, operationId: "get_job", success: json(refTo("Job"), "The job.") },
  "DELETE /jobs/{job_id}": {
    tag,
    operationId: "delete_job",
    success: empty("Deleted, now or earlier."),
    errors: ["INVALID_ARGUMENT", "ALREADY_IN_PROGRESS", "UNAVAILABLE"],
  },
  "GET /jobs/{job_id}/status": {
    tag,
    operationId: "get_job_status",
    query: {
      logs_after: {
        type: "string",
        description: "A cursor, or `start` for the first event on. Without it no events are sent.",
      },
    },
    success: json(refTo("JobStatus"), "The status."),
  },
  "GET /jobs/{job_id}/logs": {
    tag,
    operationId: "list_job_logs",
    query: PAGE_QUERY,
    success: json(pageOf("LogEvent"), "A page of events, oldest first."),
  },
  "GET /jobs/{job_id}/stream": {
    tag,
    operationId: "stream_job",
    headers: { "Last-Event-ID": { type: "string", description: "Id of the last frame that arrived." } },
    success: { status: 200, description: STREAM, stream: "JobStream" },
  },
};
