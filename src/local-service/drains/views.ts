import { instant } from "../jobs/views.ts";
import { failureOf } from "../outbound/outcome.ts";
import type { DrainRow } from "./tables.ts";

const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms));

/** A drain without its secret and without header values. */
export function drainView(row: DrainRow) {
  return {
    id: row.drainId,
    name: row.name,
    url: row.url,
    format: row.format,
    header_names: Object.keys(JSON.parse(row.headers) as object),
    enabled: row.enabled === 1,
    batch_size: row.batchSize,
    consecutive_failures: row.consecutiveFailures,
    last_success_at: instantOrNull(row.lastSuccessAt),
    last_failure_at: instantOrNull(row.lastFailureAt),
    last_failure_status: row.lastFailureStatus,
    last_error: row.lastError === null ? null : failureOf(row.lastError),
    disabled_reason: row.disabledReason,
    created_at: instant(row.createdAt),
    updated_at: instant(row.updatedAt),
    updated_by_key_id: row.updatedByKeyId,
  };
}
