import { randomInt, randomUUID } from "node:crypto";
import { promptOf } from "../faults/engine.ts";
import { parseBody } from "../http/body.ts";
import { type Answer, type Call, type Endpoint, endpoint, newestFirst, noContent, ok } from "../http/call.ts";
import { notFound, refuse } from "../http/refusal.ts";
import { instant, instantOrNull } from "../jobs/views.ts";
import { balanceOf, usd } from "../money.ts";
import { failureOf, type Message, type Outcome, testResult } from "../outbound/outbound.ts";
import { createOutbox } from "../outbound/outbox.ts";
import { defaultWebhookBody } from "../request-bodies.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { JobRow } from "../store/rows.ts";
import {
  begin,
  type DefaultWebhookRow,
  type DeliveryAttempts,
  type DeliveryRow,
  end,
  fire,
  interrupted,
  isDue,
  mayReplay,
  NEW_DELIVERY,
  type ReplayEntry,
  replay,
  type WebhookSigner,
  type WebhookTables,
  webhookSigner,
  webhookTables,
} from "./deliveries.ts";

const LIMITS = { total: 32, perLane: 8 } as const;

function laneOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

function createDispatcher(ports: ServiceParts, tables: WebhookTables, signer: WebhookSigner) {
  const { store, clock, views, outbound } = ports;
  const outbox = createOutbox(ports, LIMITS, attempt);

  /**
   * Schedules the delivery's next attempt, if there is one. Call this after committing the transaction that made the
   * delivery due.
   */
  function schedule(delivery: DeliveryRow): void {
    const { seq, nextAttemptAt } = delivery;
    if (nextAttemptAt === null || outbox.isClosed()) return;
    clock.at(nextAttemptAt, () => outbox.push(laneOf(delivery.url), seq));
  }

  /**
   * Builds the message for an attempt. Each attempt needs a new message, because the URLs in the body are signed again.
   */
  function messageOf(delivery: DeliveryRow): Message {
    const job = store.jobs.bySeq(delivery.jobSeq);
    const payload = delivery.payload ?? (job && JSON.stringify(views.result(job, "payload")));
    if (payload === undefined || delivery.event === null) throw new Error(`delivery ${delivery.seq} has no event`);
    const body = Buffer.from(payload);
    const { jobId: id, event, attempts: attempt, redeliveryCount } = delivery;
    const announcement = { id, event, attempt, redelivery: redeliveryCount > 0, signedAt: clock.now() };
    return { body, headers: signer.headers(announcement, body) };
  }

  async function post(delivery: DeliveryRow): Promise<Outcome | null> {
    try {
      return await outbound.post(delivery.url, messageOf(delivery));
    } catch (error) {
      ports.onDefect(error, "");
      return { is: "no-body" };
    }
  }

  function start(seq: number): DeliveryRow | null {
    const delivery = tables.bySeq(seq);
    if (!delivery || !isDue(delivery, clock.now())) return null;
    const begun = begin(delivery, clock.now());
    tables.update({ ...begun, copies: 1 });
    return begun;
  }

  async function attempt(seq: number): Promise<void> {
    const delivery = await store.write(() => start(seq));
    if (!delivery) return;
    const outcome = await post(delivery);
    // The service is closing. The row stays DELIVERING, and the next start repeats the attempt.
    if (outcome === null) return;
    for (let copy = 1; copy < delivery.copies; copy += 1) await post(delivery);
    await store.write(() => {
      const ended = end({ ...delivery, copies: 1 }, outcome, clock.now());
      tables.update(ended);
      store.afterCommit(() => schedule(ended));
    });
  }

  return {
    schedule,
    async recover(): Promise<void> {
      const left = tables.unsent();
      const due = left.map((row) => (row.status === "DELIVERING" ? interrupted(row, clock.now()) : row));
      await store.write(() => {
        for (const row of due) tables.update(row);
      });
      for (const row of due) schedule(row);
    },
    close: outbox.close,
  };
}

export function createWebhooks(ports: ServiceParts) {
  const { store, clock, faults } = ports;
  const tables = webhookTables(store.statements);
  const signer = webhookSigner(store.meta, ports.options.brand);
  const dispatcher = createDispatcher(ports, tables, signer);

  function targetOf(job: JobRow): Pick<DeliveryRow, "url" | "source"> | null {
    if (job.webhook !== null) return { url: job.webhook, source: "per_job" };
    const byDefault = tables.defaults.get(job.workspaceId);
    return byDefault?.enabled === 1 ? { url: byDefault.url, source: "default" } : null;
  }

  ports.hooks.on("accepted", (job) => {
    const target = targetOf(job);
    if (!target) return;
    const { seq: jobSeq, jobId, workspaceId, ownerId, model } = job;
    const fixed = { jobSeq, jobId, workspaceId, ownerId, model, createdAt: clock.now(), copies: 1, payload: null };
    tables.insert({ ...NEW_DELIVERY, ...fixed, ...target });
  });

  ports.hooks.on("ended", (job) => {
    const delivery = tables.byJob(job.seq);
    if (!delivery) return;
    const fault = faults.webhook({ model: job.model, prompt: promptOf(JSON.parse(job.input)) });
    if (fault.never) return;
    const event = job.status === "COMPLETED" ? "job.completed" : "job.failed";
    const due = fire({ ...delivery, copies: fault.duplicate ? 2 : 1 }, event, clock.now() + fault.delayMs);
    tables.update(due);
    store.afterCommit(() => dispatcher.schedule(due));
  });

  return {
    endpoints: webhookEndpoints(ports, tables, signer, dispatcher),
    recover: dispatcher.recover,
    topOffFailed: (workspaceId: string, dollars: number) =>
      store.write(() => {
        const target = tables.defaults.get(workspaceId);
        if (target?.enabled !== 1) return;
        const id = `evt_${randomUUID()}`;
        const [now, type] = [clock.now(), "billing.top_off_failed"] as const;
        const money = { amount_attempted: dollars, balance: usd(balanceOf(store.workspaces.get(workspaceId))) };
        const reason = "payment_method_declined";
        const payload = JSON.stringify({ id, type, created_at: instant(now), reason, ...money, currency: "USD" });
        // Uses a negative number, because no job has a negative number.
        const owner = { jobSeq: -randomInt(2 ** 47), jobId: id, workspaceId, ownerId: "", model: "" };
        const fixed = { ...owner, url: target.url, source: "default", createdAt: now, copies: 1, payload } as const;
        const due = fire({ ...NEW_DELIVERY, ...fixed }, type, now);
        const seq = tables.insert(due);
        store.afterCommit(() => dispatcher.schedule({ ...due, seq }));
      }),
    close: dispatcher.close,
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;

function attemptsView(row: DeliveryAttempts) {
  return {
    status: row.status,
    attempts: row.attempts,
    last_response_status: row.lastResponseStatus,
    last_error: row.lastError === null ? null : failureOf(row.lastError),
    last_attempt_at: instantOrNull(row.lastAttemptAt),
  };
}

function deliveryView(row: DeliveryRow, replays: readonly ReplayEntry[], reader: { readonly ownerId: string }) {
  return {
    job_id: row.jobId,
    job_accessible: row.ownerId === reader.ownerId,
    model: row.model,
    event_type: row.event,
    source: row.source,
    redelivery_count: row.redeliveryCount,
    redeliveries: replays.map((entry) => ({ requested_at: instant(entry.requestedAt), ...attemptsView(entry) })),
    webhook_url: row.url,
    created_at: instant(row.createdAt),
    ...attemptsView(row),
  };
}

function defaultWebhookView(row: DefaultWebhookRow | null) {
  if (row === null) return { url: null, enabled: false, updated_at: null, updated_by_key_id: null };
  return {
    url: row.url,
    enabled: row.enabled === 1,
    updated_at: instant(row.updatedAt),
    updated_by_key_id: row.updatedByKeyId,
  };
}

function webhookEndpoints(
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
    throw notFound("The workspace has no default webhook; set one with PUT /webhooks/default.");
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

  async function testDefault(call: Call): Promise<Answer> {
    const { url } = findDefault(call);
    const id = `job_${randomUUID()}`;
    const sample = { job_id: id, model: "test", status: "COMPLETED", outputs: [], error: null };
    const body = Buffer.from(JSON.stringify(sample));
    const announcement = { id, event: "webhook.test", redelivery: false, attempt: 1, signedAt: clock.now() };
    return ok(testResult(await outbound.post(url, { body, headers: signer.headers(announcement, body) })));
  }

  function list(call: Call): Answer {
    const read = (before: number, count: number) => tables.page(call.principal.workspaceId, before, count);
    return newestFirst(call, read, (row) => view(row, call));
  }

  function replayNow(call: Call): DeliveryRow {
    const known = tables.byJobId(call.principal.workspaceId, call.param("job_id"));
    if (!known) throw notFound("This workspace has no delivery for that job.");
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
    endpoint("GET", "/webhooks/public-key", "public", "The key for verifying deliveries", () => ok(publicKey)),
    endpoint("GET", "/webhooks/default", manage, "The default webhook", (call) =>
      ok(defaultWebhookView(tables.defaults.get(call.principal.workspaceId) ?? null)),
    ),
    endpoint("PUT", "/webhooks/default", manage, "Set the default webhook", setDefault),
    endpoint("DELETE", "/webhooks/default", manage, "Remove the default webhook", removeDefault),
    endpoint("POST", "/webhooks/default/test", manage, "Send a test event", testDefault),
    endpoint("GET", "/webhooks/deliveries", manage, "Deliveries, newest first", list),
    endpoint("POST", "/webhooks/deliveries/{job_id}/redeliver", manage, "Send a finished delivery again", redeliver),
  ];
}
