import { randomUUID } from "node:crypto";
import { type Answer, type Call, type Endpoint, noContent, ok } from "../http/call.ts";
import { parseBody } from "../http/parse-body.ts";
import { pageOf, pageRequest } from "../http/query.ts";
import { notFound, refuse } from "../http/refusal.ts";
import { instant } from "../jobs/views.ts";
import { type FailureCode, failureOf } from "../outbound/outcome.ts";
import { testResult } from "../outbound/test-result.ts";
import type { ServiceParts } from "../service-parts.ts";
import { defaultWebhookBody } from "./bodies.ts";
import { mayReplay, type ReplayEntry, replay } from "./delivery.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { WebhookSigner } from "./signature.ts";
import type { DefaultWebhookRow, DeliveryRow, WebhookTables } from "./tables.ts";

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

type Ports = Pick<ServiceParts, "store" | "clock" | "outbound">;

/** Everything below `/webhooks`. */
export function webhookEndpoints(
  { store, clock, outbound }: Ports,
  tables: WebhookTables,
  signer: WebhookSigner,
  dispatcher: Dispatcher,
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
    const { limit, after } = pageRequest(call);
    const rows = tables.page(call.principal.workspaceId, after ?? Number.MAX_SAFE_INTEGER, limit + 1);
    return ok(
      pageOf(
        rows,
        limit,
        (row) => row.seq,
        (row) => view(row, call),
      ),
    );
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
    {
      method: "GET",
      path: "/webhooks/public-key",
      access: "public",
      summary: "The key that deliveries are signed with",
      handle: () => ok(publicKey),
    },
    {
      method: "GET",
      path: "/webhooks/default",
      access: manage,
      summary: "Where events go by default",
      handle: (call) => ok(defaultWebhookView(tables.defaults.get(call.principal.workspaceId) ?? null)),
    },
    { method: "PUT", path: "/webhooks/default", access: manage, summary: "Set that place", handle: setDefault },
    { method: "DELETE", path: "/webhooks/default", access: manage, summary: "Forget it", handle: removeDefault },
    {
      method: "POST",
      path: "/webhooks/default/test",
      access: manage,
      summary: "Send a test event",
      handle: testDefault,
    },
    { method: "GET", path: "/webhooks/deliveries", access: manage, summary: "Deliveries, newest first", handle: list },
    {
      method: "POST",
      path: "/webhooks/deliveries/{job_id}/redeliver",
      access: manage,
      summary: "Send a finished delivery again",
      handle: redeliver,
    },
  ];
}
