import { instant } from "../jobs/views.ts";
import { type FailureCode, failureOf } from "../outbound/outcome.ts";
import type { ReplayEntry } from "./delivery.ts";
import type { DefaultWebhookRow, DeliveryRow } from "./tables.ts";

const instantOrNull = (ms: number | null) => (ms === null ? null : instant(ms));
const failureOrNull = (code: FailureCode | null) => (code === null ? null : failureOf(code));

function replayItem(entry: ReplayEntry) {
  return {
    requested_at: instant(entry.requestedAt),
    status: entry.status,
    attempts: entry.attempts,
    last_response_status: entry.lastResponseStatus,
    last_error: failureOrNull(entry.lastError),
    last_attempt_at: instantOrNull(entry.lastAttemptAt),
  };
}

/** A delivery as `reader` sees it. */
export function deliveryView(row: DeliveryRow, replays: readonly ReplayEntry[], reader: { readonly ownerId: string }) {
  return {
    job_id: row.jobId,
    job_accessible: row.ownerId === reader.ownerId,
    model: row.model,
    event_type: row.event,
    status: row.status,
    source: row.source,
    attempts: row.attempts,
    redelivery_count: row.redeliveryCount,
    redeliveries: replays.map(replayItem),
    last_response_status: row.lastResponseStatus,
    last_error: failureOrNull(row.lastError),
    webhook_url: row.url,
    created_at: instant(row.createdAt),
    last_attempt_at: instantOrNull(row.lastAttemptAt),
  };
}

/** Null: none is set. */
export function defaultWebhookView(row: DefaultWebhookRow | null) {
  if (row === null) return { url: null, enabled: false, updated_at: null, updated_by_key_id: null };
  return {
    url: row.url,
    enabled: row.enabled === 1,
    updated_at: instant(row.updatedAt),
    updated_by_key_id: row.updatedByKeyId,
  };
}
