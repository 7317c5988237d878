import type { JsonSchema } from "../../catalog/model.ts";
import { OUTPUT_SCHEMA } from "../../catalog/schema-parts.ts";
import {
  anyFields,
  dollars,
  exactly,
  id,
  instant,
  listOf,
  object,
  oneOf,
  orNull,
  refTo,
  text,
  usd,
  whole,
} from "../schema.ts";

const status = oneOf("IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED");
const jobId = id("job");

const { $schema: _dialect, additionalProperties: _closed, properties, ...output } = OUTPUT_SCHEMA;

const common = { job_id: jobId, model: text, status, created_at: instant };
const sometimes = { quality: text, completed_at: instant, cost: dollars, currency: usd };

const outputs = listOf(refTo("JobOutput"));
const metrics = object({ processing_time_ms: orNull(whole) });

/* A webhook's payload: the job without logs and cost. */
const ended = { job_id: jobId, model: text, created_at: instant, completed_at: instant, outputs };
const said = { quality: text, prompt: text };

export const jobComponents = {
  JobAcknowledgement: object(
    { job_id: jobId, model: text, status, status_url: text, result_url: text },
    { estimated_completion_at: orNull(instant) },
  ),
  WebhookTestEvent: object({ ...ended, status: exactly("COMPLETED"), error: { type: "null" } }),
  JobSummary: object(common, sometimes),
  JobOutput: { ...output, properties: { ...(properties as object), error: orNull(refTo("ErrorObject")) } },
  Job: object(
    { ...common, outputs, error: orNull(refTo("ErrorObject")) },
    { ...sometimes, prompt: text, metrics, logs: { ...listOf(refTo("LogEvent")), maxItems: 100 } },
  ),
  JobCompletedEvent: object({ ...ended, status: exactly("COMPLETED"), metrics, error: { type: "null" } }, said),
  JobFailedEvent: object({ ...ended, status: exactly("FAILED"), error: refTo("ErrorObject") }, said),
  JobStatus: object(
    {
      job_id: jobId,
      status,
      progress: { type: ["number", "null"], minimum: 0, maximum: 1 },
      estimated_completion_at: orNull(instant),
    },
    { logs: listOf(refTo("LogEvent")), logs_next_cursor: text },
  ),
  LogEvent: object({
    id: { type: "integer", minimum: 1 },
    timestamp: instant,
    level: oneOf("info", "warning", "error"),
    event: text,
    message: text,
    source: oneOf("api", "worker", "provider", "cron"),
    data: anyFields,
  }),
};

const anyOf = (...names: readonly string[]) => ({ oneOf: names.map(refTo) });

/** A frame named `event`; the last frame of a stream has no id to resume from. */
const frame = (event: string, data: JsonSchema, id: JsonSchema | null) =>
  object({ event: exactly(event), data, ...(id ? { id } : {}) });

const resumable = { ...text, description: "Send it as Last-Event-ID to go on after this frame." };

/** Frames of event streams, their data parsed where it is JSON. */
export const streamComponents = {
  JobStreamData: anyOf("JobStatus", "LogEvent", "JobStreamEnd"),
  JobStreamEnd: { ...exactly("[STREAM_DONE]"), description: "Not JSON. It stands in no other frame." },
  JobStreamFrame: {
    ...anyOf("JobStreamStatusFrame", "JobStreamLogFrame", "JobStreamDoneFrame"),
    discriminator: {
      propertyName: "event",
      mapping: {
        status: "#/components/schemas/JobStreamStatusFrame",
        log: "#/components/schemas/JobStreamLogFrame",
        done: "#/components/schemas/JobStreamDoneFrame",
      },
    },
  },
  JobStreamStatusFrame: frame("status", refTo("JobStatus"), resumable),
  JobStreamLogFrame: frame("log", refTo("LogEvent"), resumable),
  JobStreamDoneFrame: frame("done", refTo("JobStreamEnd"), null),
  ChatCompletionStreamData: anyOf("ChatCompletionChunk", "ChatCompletionError", "ChatCompletionStreamEnd"),
  ChatCompletionStreamEnd: { ...exactly("[DONE]"), description: "Not JSON." },
  ChatCompletionStreamFrame: object({ data: refTo("ChatCompletionStreamData") }),
};
