import { z } from "zod";
import type { ServiceError } from "../errors/api-error.ts";
import { currency, integer, listOf, optional, optionalMicros, record, text, withDefault } from "./lenient.ts";
import { serviceError } from "./service-error.ts";

export type KnownJobStatus = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED";
/** A status that this version does not know arrives as it was sent. */
export type JobStatus = KnownJobStatus | (string & {});
export type OutputStatus = "COMPLETED" | "FAILED" | "EXPIRED" | (string & {});

/** One element of `outputs`. Sizes in pixels, times in milliseconds. */
export interface Output {
  readonly index: number;
  readonly status: OutputStatus;
  readonly assetId: string | null;
  readonly voiceId: string | null;
  /** Presigned: anyone who holds it can read the bytes. Keep it out of logs and stores. */
  readonly url: string | null;
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly durationMs: number | null;
  /** Null until the service has probed the video; a later read may have it. */
  readonly fps: number | null;
  readonly error: ServiceError | null;
}

/** One lifecycle event of a job. `id` rises within the job. */
export interface LogEvent {
  readonly id: number;
  readonly timestamp: string | null;
  readonly level: string;
  readonly event: string;
  readonly message: string;
  readonly source: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface JobResult {
  readonly jobId: string;
  readonly model: string;
  readonly quality: string | null;
  readonly status: JobStatus;
  readonly prompt: string | null;
  /** The key it was submitted under; null where the service does not tell. */
  readonly idempotencyKey: string | null;
  readonly outputs: readonly Output[];
  readonly metrics: { readonly processingTimeMs: number | null } | null;
  readonly error: ServiceError | null;
  /** Null after a delete and where the service sends none. */
  readonly logs: readonly LogEvent[] | null;
  /** Net of refunds; null until charged, which may be after completion. */
  readonly costMicros: number | null;
  readonly currency: string;
  readonly createdAt: string | null;
  readonly completedAt: string | null;
}

export interface JobSummary {
  readonly jobId: string;
  readonly model: string;
  readonly quality: string | null;
  readonly status: JobStatus;
  readonly costMicros: number | null;
  readonly currency: string;
  readonly createdAt: string | null;
  readonly completedAt: string | null;
}

export interface JobStatusView {
  readonly jobId: string;
  readonly status: JobStatus;
  /** 0 to 1, or null when unknown. */
  readonly progress: number | null;
  readonly estimatedCompletionAt: string | null;
  /** Only events newer than the cursor asked with; empty without one. */
  readonly logs: readonly LogEvent[];
  readonly logsNextCursor: string | null;
}

/** The acknowledgement as the service sent it: of a replay, the original one, so read the job for its present status. */
export interface SubmitAck {
  readonly jobId: string;
  /** The resolved model id, which may differ from the one asked for. */
  readonly model: string;
  readonly status: JobStatus;
  /** Absolute. */
  readonly statusUrl: string;
  /** Absolute. */
  readonly resultUrl: string;
  readonly estimatedCompletionAt: string | null;
  /** The service knew the key already and created no new job. */
  readonly replayed: boolean;
  /** How often this call sent the submit until the ack came; a replay of the very first send is another job's. */
  readonly sends: number;
}

export const output = z
  .object({
    status: withDefault(z.string(), "COMPLETED"),
    asset_id: text,
    voice_id: text,
    url: text,
    content_type: text,
    width: integer,
    height: integer,
    duration_ms: integer,
    fps: integer,
    error: optional(serviceError),
  })
  .transform((wire) => ({
    status: wire.status as OutputStatus,
    assetId: wire.asset_id,
    voiceId: wire.voice_id,
    url: wire.url,
    contentType: wire.content_type,
    width: wire.width,
    height: wire.height,
    durationMs: wire.duration_ms,
    fps: wire.fps,
    error: wire.error,
  }));

export const logEvent = z
  .object({
    id: z.coerce.number(),
    timestamp: text,
    level: withDefault(z.string(), "info"),
    event: withDefault(z.string(), ""),
    message: withDefault(z.string(), ""),
    source: text,
    data: record,
  })
  .transform((wire): LogEvent => ({ ...wire, data: wire.data ?? {} }));

export const jobResult = z
  .object({
    job_id: z.string(),
    model: withDefault(z.string(), ""),
    quality: text,
    status: z.string(),
    prompt: text,
    idempotency_key: text,
    outputs: listOf(output),
    metrics: optional(z.object({ processing_time_ms: integer })),
    error: optional(serviceError),
    logs: optional(z.array(logEvent)),
    cost: optionalMicros,
    currency,
    created_at: text,
    completed_at: text,
  })
  .transform(
    (wire): JobResult => ({
      jobId: wire.job_id,
      model: wire.model,
      quality: wire.quality,
      status: wire.status,
      prompt: wire.prompt,
      idempotencyKey: wire.idempotency_key,
      outputs: wire.outputs.map((item, index) => ({ index, ...item })),
      metrics: wire.metrics && { processingTimeMs: wire.metrics.processing_time_ms },
      error: wire.error,
      logs: wire.logs,
      costMicros: wire.cost,
      currency: wire.currency,
      createdAt: wire.created_at,
      completedAt: wire.completed_at,
    }),
  );

export const jobSummary = z
  .object({
    job_id: z.string(),
    model: withDefault(z.string(), ""),
    quality: text,
    status: z.string(),
    cost: optionalMicros,
    currency,
    created_at: text,
    completed_at: text,
  })
  .transform(
    (wire): JobSummary => ({
      jobId: wire.job_id,
      model: wire.model,
      quality: wire.quality,
      status: wire.status,
      costMicros: wire.cost,
      currency: wire.currency,
      createdAt: wire.created_at,
      completedAt: wire.completed_at,
    }),
  );

export const jobStatusView = z
  .object({
    job_id: z.string(),
    status: z.string(),
    progress: integer,
    estimated_completion_at: text,
    logs: listOf(logEvent),
    logs_next_cursor: text,
  })
  .transform(
    (wire): JobStatusView => ({
      jobId: wire.job_id,
      status: wire.status,
      progress: wire.progress,
      estimatedCompletionAt: wire.estimated_completion_at,
      logs: wire.logs,
      logsNextCursor: wire.logs_next_cursor,
    }),
  );

export const submitAck = z.object({
  job_id: z.string().min(1),
  model: withDefault(z.string(), ""),
  status: z.string(),
  status_url: text,
  result_url: text,
  estimated_completion_at: text,
});
