import { type JsonSchema, OUTPUT_SCHEMA } from "../catalog/model.ts";
import {
  anyFields,
  dollars,
  exactly,
  flag,
  id as idOf,
  instant,
  listOf,
  object,
  oneOf,
  orNull,
  refTo,
  TAGS,
  text,
  usd,
  whole,
} from "./operation.ts";

const status = oneOf("IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED");
const jobId = idOf("job");

const { $schema: _dialect, additionalProperties: _closed, properties, ...output } = OUTPUT_SCHEMA;

const common = { job_id: jobId, model: text, status };
const sometimes = { quality: text, completed_at: instant, cost: dollars, currency: usd };

const outputs = listOf(refTo("JobOutput"));
const metrics = object({ processing_time_ms: orNull(whole) }, { time_to_first_token_ms: whole });
const usage = object({
  prompt_tokens: whole,
  completion_tokens: { ...whole, description: "Includes reasoning tokens." },
  reasoning_tokens: orNull(whole),
  estimated: flag,
});

const ended = { job_id: jobId, model: text, outputs };
const optional = { quality: text, prompt: text, created_at: instant, completed_at: instant };

export const jobComponents = {
  JobAcknowledgement: object(
    { job_id: jobId, model: text, status, status_url: text, result_url: text },
    { estimated_completion_at: orNull(instant) },
  ),
  WebhookTestEvent: object({ ...ended, status: exactly("COMPLETED"), error: { type: "null" } }),
  JobSummary: object({ ...common, created_at: instant }, sometimes),
  JobOutput: { ...output, properties: { ...(properties as object), error: orNull(refTo("ErrorObject")) } },
  Job: object(
    { ...common, outputs, error: orNull(refTo("ErrorObject")) },
    {
      ...sometimes,
      created_at: instant,
      prompt: text,
      metrics,
      usage,
      logs: { ...listOf(refTo("LogEvent")), maxItems: 100 },
    },
  ),
  JobCompletedEvent: object({ ...ended, status: exactly("COMPLETED"), metrics, error: { type: "null" } }, optional),
  JobFailedEvent: object({ ...ended, status: exactly("FAILED"), error: refTo("ErrorObject") }, optional),
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

const id = { ...text, description: "Send this id as Last-Event-ID to continue after this frame." };

/** Schemas of the event data in streams. The data is JSON text, but the schemas describe it in parsed form. */
export const streamComponents = {
  JobStreamData: anyOf("JobStatus", "LogEvent", "JobStreamEnd"),
  JobStreamEnd: {
    ...exactly("[STREAM_DONE]"),
    description: "A plain string, not JSON. Only the final frame contains it.",
  },
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
  JobStreamStatusFrame: object({ event: exactly("status"), data: refTo("JobStatus"), id }),
  JobStreamLogFrame: object({ event: exactly("log"), data: refTo("LogEvent"), id }),
  JobStreamDoneFrame: object({ event: exactly("done"), data: refTo("JobStreamEnd") }),
  ChatCompletionStreamData: anyOf("ChatCompletionChunk", "ChatCompletionError", "ChatCompletionStreamEnd"),
  ChatCompletionStreamEnd: { ...exactly("[DONE]"), description: "Not JSON." },
  ChatCompletionStreamFrame: object({ data: refTo("ChatCompletionStreamData") }),
  ResponseStreamData: refTo("ResponseEvent"),
  ResponseStreamFrame: object({ event: text, data: refTo("ResponseStreamData") }),
};

const digits = { type: "string", pattern: "^[0-9]+$" };
const hex = (bytes: number) => ({ type: "string", pattern: `^[0-9a-f]{${bytes * 2}}$` });

function header(name: string, schema: JsonSchema, description: string) {
  return { name, in: "header", required: true, description, schema };
}

function signed(brand: string, event: string) {
  const named = (ending: string, schema: JsonSchema, description: string) =>
    header(`X-${brand}-Webhook-${ending}`, schema, description);
  return [
    named(
      "Id",
      { type: "string", pattern: "^(job|evt)_" },
      "Id of the job or event; the same for every attempt and redelivery.",
    ),
    named(
      "Timestamp",
      digits,
      "Time of signing in Unix seconds. Reject a request if this time is more than five minutes off.",
    ),
    named("Event", exactly(event), "The kind of event."),
    named(
      "Redelivery",
      { type: "string", enum: ["true", "false"] },
      "Whether this is a redelivery that a person requested.",
    ),
    named("Attempt", digits, "From 1; not signed."),
    named(
      "Signature",
      hex(64),
      "Ed25519 signature of five lines: timestamp, id, event, redelivery, hex SHA-256 of the body.",
    ),
  ];
}

const content = (schema: JsonSchema, mediaType = "application/json") => ({ [mediaType]: { schema } });

function post(event: string, tag: keyof typeof TAGS, summary: string, parameters: readonly object[], bodies: object) {
  return {
    post: {
      operationId: `receive_${event.replaceAll(".", "_")}`,
      tags: [TAGS[tag].name],
      summary,
      security: [],
      parameters,
      requestBody: { required: true, content: bodies },
      responses: { "2XX": { description: "Received." }, default: { description: "Sent again later." } },
    },
  };
}

function announcement(brand: string, event: string, component: string, summary: string) {
  return post(event, "webhooks", summary, signed(brand, event), content(refTo(component)));
}

function drainedLine(brand: string): JsonSchema {
  const own = (fields: Readonly<Record<string, JsonSchema>>) =>
    Object.fromEntries(Object.entries(fields).map(([name, schema]) => [`${brand.toLowerCase()}_${name}`, schema]));
  return object(
    {
      timestamp: instant,
      level: oneOf("info", "warning", "error"),
      message: text,
      ...own({ log_id: text, job_id: text, model: text, event: text, source: text }),
    },
    own({ data: anyFields }),
  );
}

function batch(brand: string) {
  const signature = header(
    `X-${brand}-Signature`,
    hex(32),
    "HMAC-SHA256 of the body with the drain's secret; only for NDJSON.",
  );
  const summary = "A batch of lifecycle events: lines of JSON, or an OTLP ExportLogsServiceRequest";
  return post("log_drain.batch", "drains", summary, [{ ...signature, required: false }], {
    ...content(refTo("LogDrainLine"), "application/x-ndjson"),
    ...content({ type: "string", contentMediaType: "application/x-protobuf" }, "application/x-protobuf"),
  });
}

export function webhooksOf(brand: string) {
  return {
    "job.completed": announcement(brand, "job.completed", "JobCompletedEvent", "A job is complete"),
    "job.failed": announcement(brand, "job.failed", "JobFailedEvent", "A job failed"),
    "billing.top_off_failed": announcement(brand, "billing.top_off_failed", "TopOffFailedEvent", "A top-off failed"),
    "webhook.test": announcement(brand, "webhook.test", "WebhookTestEvent", "A test of the default webhook"),
    "log_drain.batch": batch(brand),
  };
}

export function webhookComponents(brand: string): Readonly<Record<string, JsonSchema>> {
  return { LogDrainLine: drainedLine(brand) };
}
