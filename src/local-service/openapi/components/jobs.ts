import { OUTPUT_SCHEMA } from "../../catalog/schema-parts.ts";
import { dollars, exactly, id, instant, listOf, object, oneOf, orNull, refTo, text, usd, whole } from "../schema.ts";

const status = oneOf("IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED");
const jobId = id("job");

const { $schema: _dialect, additionalProperties: _closed, properties, ...output } = OUTPUT_SCHEMA;

const common = { job_id: jobId, model: text, status, created_at: instant };
const sometimes = { quality: text, completed_at: instant, cost: dollars, currency: usd };

export const jobComponents = {
  Ack: object(
    { job_id: jobId, model: text, status, status_url: text, result_url: text },
    { estimated_completion_at: orNull(instant) },
  ),
  JobSummary: object(common, sometimes),
  Output: {
    ...output,
    properties: { ...(properties as object), error: orNull(refTo("ErrorObject")) },
  },
  Job: object(
    { ...common, outputs: listOf(refTo("Output")), error: orNull(refTo("ErrorObject")) },
    {
      ...sometimes,
      prompt: text,
      metrics: object({ processing_time_ms: orNull(whole) }),
      logs: { ...listOf(refTo("LogEvent")), maxItems: 100 },
    },
  ),
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
    data: { type: "object" },
  }),
  StreamEnd: exactly("[STREAM_DONE]"),
};
