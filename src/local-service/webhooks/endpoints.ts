import { randomUUID } from "node:crypto";
import { parseBody } from "../http/body.ts";
import { type Answer, type Call, type Endpoint, endpoint, newestFirst, noContent, ok } from "../http/call.ts";
import { notFound, refuse } from "../http/refusal.ts";
import { instant, instantOrNull } from "../jobs/views.ts";
import { type FailureCode, failureOf, testResult } from "../outbound/outbound.ts";
import { defaultWebhookBody } from "../request-bodies.ts";
import type { ServiceParts } from "../service-parts.ts";
import {
  type DefaultWebhookRow,
  type DeliveryRow,
  mayReplay,
  type ReplayEntry,
  replay,
  type WebhookSigner,
  type WebhookTables,
} from "./deliveries.ts";

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

/** A delivery as visible to `reader`. */
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

/** Null when none is set. */
export function defaultWebhookView(row: DefaultWebhookRow | null) {
  if (row === null) return { url: null, enabled: false, updated_at: null, updated_by_key_id: null };
  return {
    url: row.url,
    enabled: row.enabled === 1,
    updated_at: instant(row.updatedAt),
    updated_by_key_id: row.updatedByKeyId,
  };
}

/** Everything below `/webhooks`. */
export function webhookEndpoints(
  { store, clock, outbound }: ServiceParts,
  tables: WebhookTables,
  signer: WebhookSigner,
  dispatcher: { schedule(delivery: DeliveryRow): void },
): readonly Endpoint[] {
  const view = (row: DeliveryRow, call: Call) =>
    deliveryView(row, row.redeliveryCount === 0 ? [] : tables.replays(row.seq), call.principal);

  function findDefault(call: Call): DefaultWebhookRow {
    const row = tables.defaults.get(call.principal.workspaceId);
    if (row) return row;
    throw notFound("The workspace has no default webhook; PUT /webhooks/default sets one.");
  }

  async function setDefault(call: Call): Promise<Answer> {
    const { url, enabled } = parseBody(defaultWebhookBody, await call.json());
    const { workspaceId, keyId: updatedByKeyId } = call.principal;
    const row = { workspaceId, url, enabled: enabled === false ? 0 : 1, updatedAt: clock.now(), updatedByKeyId };
    await store.write(() => tables.defaults.set(row));
    return ok(defaultWebhookView(row));
  }

  async function removeDefault(call: Call): Promise<Answer> {
    await store.write(() => tables.defaults.remove(call.principal.workspaceId));
    return noContent;
  }

  /** Signed like a delivery, for a job that does not exist; its event kind identifies it as a test. */
  async function testDefault(call: Call): Promise<Answer> {
    const { url } = findDefault(call);
    const at = instant(clock.now());
    const id = `job_${randomUUID()}`;
    const sample = { job_id: id, model: "test", status: "COMPLETED", outputs: [], error: null, created_at: at };
    const body = Buffer.from(JSON.stringify({ ...sample, completed_at: at }));
    const announcement = { id, event: "webhook.test", redelivery: false, attempt: 1, signedAt: clock.now() };
    return ok(testResult(await outbound.post(url, { body, headers: signer.headers(announcement, body) })));
  }

  function list(call: Call): Answer {
    const read = (before: number, count: number) => tables.page(call.principal.workspaceId, before, count);
    return newestFirst(call, read, (row) => view(row, call));
  }

  function replayNow(call: Call): DeliveryRow {
    const known = tables.byJobId(call.principal.workspaceId, call.param("job_id"));
    if (!known) throw notFound("There is no delivery for such a job in this workspace.");
    if (!mayReplay(known)) throw refuse("ALREADY_IN_PROGRESS", "The delivery has not finished yet.");
    const { delivery, entry } = replay(known, clock.now());
    tables.update(delivery);
    tables.addReplay(delivery.seq, delivery.redeliveryCount, entry);
    store.afterCommit(() => dispatcher.schedule(delivery));
    return delivery;
  }

  const redeliver = async (call: Call): Promise<Answer> => ok(view(await store.write(() => replayNow(call)), call));
  const manage = "webhooks:manage";
  const publicKey = { algorithm: "ed25519", public_key: signer.publicKey };

  return [
    endpoint("GET", "/webhooks/public-key", "public", "The key that deliveries are signed with", () => ok(publicKey)),
    endpoint("GET", "/webhooks/default", manage, "Where events go by default", (call) =>
      ok(defaultWebhookView(tables.defaults.get(call.principal.workspaceId) ?? null)),
    ),
    endpoint("PUT", "/webhooks/default", manage, "Set the default webhook", setDefault),
    endpoint("DELETE", "/webhooks/default", manage, "Remove the default webhook", removeDefault),
    endpoint("POST", "/webhooks/default/test", manage, "Send a test event", testDefault),
    endpoint("GET", "/webhooks/deliveries", manage, "Deliveries, newest first", list),
    endpoint("POST", "/webhooks/deliveries/{job_id}/redeliver", manage, "Send a finished delivery again", redeliver),
  ];
}
