import { z } from "zod";
import { integer, listOf, optional, text, withDefault } from "./lenient.ts";

/** A log drain as the service shows it: never with its secret or header values. */
export interface LogDrain {
  readonly id: string;
  readonly name: string | null;
  readonly url: string | null;
  readonly format: "ndjson" | "otlp" | (string & {});
  readonly headerNames: readonly string[];
  readonly enabled: boolean;
  readonly batchSize: number | null;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: string | null;
  readonly lastFailureAt: string | null;
  readonly lastFailureStatus: number | null;
  readonly lastError: unknown;
  readonly disabledReason: string | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly updatedByKeyId: string | null;
}

export const logDrain = z
  .object({
    id: z.string(),
    name: text,
    url: text,
    format: withDefault(z.string(), "ndjson"),
    header_names: listOf(z.string()),
    enabled: withDefault(z.boolean(), true),
    batch_size: integer,
    consecutive_failures: withDefault(z.number(), 0),
    last_success_at: text,
    last_failure_at: text,
    last_failure_status: integer,
    last_error: optional(z.unknown()),
    disabled_reason: text,
    created_at: text,
    updated_at: text,
    updated_by_key_id: text,
  })
  .transform(
    (wire): LogDrain => ({
      id: wire.id,
      name: wire.name,
      url: wire.url,
      format: wire.format,
      headerNames: wire.header_names,
      enabled: wire.enabled,
      batchSize: wire.batch_size,
      consecutiveFailures: wire.consecutive_failures,
      lastSuccessAt: wire.last_success_at,
      lastFailureAt: wire.last_failure_at,
      lastFailureStatus: wire.last_failure_status,
      lastError: wire.last_error,
      disabledReason: wire.disabled_reason,
      createdAt: wire.created_at,
      updatedAt: wire.updated_at,
      updatedByKeyId: wire.updated_by_key_id,
    }),
  );
