import type { CatalogEntry } from "../catalog/model.ts";

/** The label of the description that this service follows. */
export const API_VERSION = "3.21.14";

const ACK = {
  type: "object",
  required: ["job_id", "model", "status", "status_url", "result_url"],
  properties: {
    job_id: { type: "string" },
    model: { type: "string" },
    status: { type: "string", enum: ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED"] },
    status_url: { type: "string" },
    result_url: { type: "string" },
    estimated_completion_at: { type: ["string", "null"], format: "date-time" },
  },
};

const ERROR = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: {
        code: { type: "string" },
        message: { type: "string" },
        retryable: { type: "boolean", default: false },
      },
    },
    trace_id: { type: ["string", "null"] },
  },
};

const json = (schema: unknown) => ({ "application/json": { schema } });

/** `GET /models/{model}/openapi.json`: one operation, with the very schema of the catalog entry. */
export function modelDocument(entry: CatalogEntry) {
  return {
    openapi: "3.1.0",
    info: { title: entry.name ?? entry.id, version: API_VERSION, description: entry.description ?? "" },
    servers: [{ url: "/v3" }],
    paths: {
      [`/models/${entry.id}`]: {
        post: {
          operationId: `submit_${entry.id.replaceAll(/[^A-Za-z0-9]+/g, "_")}`,
          summary: `Submit a job to ${entry.name ?? entry.id}`,
          security: [{ credential: [] }],
          requestBody: {
            required: true,
            content: json({
              type: "object",
              required: ["input"],
              properties: {
                input: entry.input_schema,
                webhook: { type: ["string", "null"], format: "uri" },
                idempotency_key: { type: ["string", "null"] },
              },
            }),
          },
          responses: {
            202: { description: "The job was accepted.", content: json(ACK) },
            default: { description: "The job was refused.", content: json(ERROR) },
          },
        },
      },
    },
    components: { securitySchemes: { credential: { type: "http", scheme: "bearer" } } },
  };
}
