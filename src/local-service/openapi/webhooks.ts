import type { JsonSchema } from "../catalog/model.ts";
import { TAGS } from "./operation.ts";
import { anyFields, exactly, instant, object, oneOf, refTo, text } from "./schema.ts";

const digits = { type: "string", pattern: "^[0-9]+$" };
const hex = (bytes: number) => ({ type: "string", pattern: `^[0-9a-f]{${bytes * 2}}$` });

function header(name: string, schema: JsonSchema, description: string) {
  return { name, in: "header", required: true, description, schema };
}

function signed(brand: string, event: string) {
  const named = (ending: string, schema: JsonSchema, description: string) =>
    header(`X-${brand}-Webhook-${ending}`, schema, description);
  return [
    named("Id", { type: "string", pattern: "^job_" }, "The job's id; the same on every attempt and replay."),
    named("Timestamp", digits, "Unix seconds of signing; refuse one more than five minutes off."),
    named("Event", exactly(event), "What is announced."),
    named("Redelivery", { type: "string", enum: ["true", "false"] }, "Whether a person asked for this replay."),
    named("Attempt", digits, "From 1; not signed."),
    named("Signature", hex(64), "Ed25519 over five lines: timestamp, id, event, redelivery, hex SHA-256 of the body."),
  ];
}

const content = (schema: JsonSchema, mediaType = "application/json") => ({ [mediaType]: { schema } });

interface Post {
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly parameters: readonly object[];
  readonly content: object;
}

function post({ operationId, tag, summary, parameters, content: bodies }: Post) {
  return {
    post: {
      operationId,
      tags: [tag],
      summary,
      security: [],
      parameters,
      requestBody: { required: true, content: bodies },
      responses: { "2XX": { description: "Received." }, default: { description: "Sent again later." } },
    },
  };
}

function announcement(brand: string, event: string, component: string, summary: string) {
  const operationId = `receive_${event.replace(".", "_")}`;
  const parameters = signed(brand, event);
  return post({ operationId, tag: TAGS.webhooks, summary, parameters, content: content(refTo(component)) });
}

/** One line of a batch. Its field names carry the brand. */
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
  const signature = {
    ...header(`X-${brand}-Signature`, hex(32), "HMAC-SHA256 of the body with the drain's secret; only on NDJSON."),
    required: false,
  };
  return post({
    operationId: "receive_log_drain_batch",
    tag: TAGS.drains,
    summary: "A batch of lifecycle events: lines of JSON, or an OTLP ExportLogsServiceRequest",
    parameters: [signature],
    content: {
      ...content(refTo("LogDrainLine"), "application/x-ndjson"),
      ...content({ type: "string", contentMediaType: "application/x-protobuf" }, "application/x-protobuf"),
    },
  });
}

/** What the service sends on its own, as OpenAPI `webhooks`. */
export function webhooksOf(brand: string) {
  return {
    "job.completed": announcement(brand, "job.completed", "JobCompletedEvent", "A job is complete"),
    "job.failed": announcement(brand, "job.failed", "JobFailedEvent", "A job failed"),
    "webhook.test": announcement(brand, "webhook.test", "WebhookTestEvent", "A test of the default webhook"),
    "log_drain.batch": batch(brand),
  };
}

/** Schemas used only by webhooks. */
export function webhookComponents(brand: string): Readonly<Record<string, JsonSchema>> {
  return { LogDrainLine: drainedLine(brand) };
}
