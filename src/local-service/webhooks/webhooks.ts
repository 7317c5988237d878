import { promptOf } from "../faults/engine.ts";
import type { Message, Outcome } from "../outbound/outbound.ts";
import { Outbox } from "../outbound/outbox.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { JobRow } from "../store/rows.ts";
import {
  begin,
  type DeliveryRow,
  end,
  fire,
  interrupted,
  isDue,
  NEW_DELIVERY,
  type WebhookSigner,
  type WebhookTables,
  webhookSigner,
  webhookTables,
} from "./deliveries.ts";
import { webhookEndpoints } from "./endpoints.ts";

/** Maximum concurrent POSTs, in all and per host. */
const LIMITS = { total: 32, perLane: 8 } as const;

function laneOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Sends deliveries when they are due. */
function createDispatcher(ports: ServiceParts, tables: WebhookTables, signer: WebhookSigner) {
  const { store, clock, views, outbound } = ports;
  const outbox = new Outbox(ports, LIMITS, attempt);

  /** Call after the commit that made it due. */
  function schedule(delivery: DeliveryRow): void {
    const { seq, nextAttemptAt } = delivery;
    if (nextAttemptAt === null || outbox.closed) return;
    clock.at(nextAttemptAt, () => outbox.push(laneOf(delivery.url), seq));
  }

  /** Built for each attempt, since URLs in the body are signed anew. */
  function messageOf(delivery: DeliveryRow): Message {
    const job = store.jobs.bySeq(delivery.jobSeq);
    if (!job || delivery.event === null) throw new Error(`delivery ${delivery.seq} has no job that ended`);
    const body = Buffer.from(JSON.stringify(views.result(job, "payload")));
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
    // Closing: the row stays DELIVERING, and the next start repeats the attempt.
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
    close: () => outbox.close(),
  };
}

/** Signed webhooks for finished jobs. */
export function createWebhooks(ports: ServiceParts) {
  const { store, clock, faults } = ports;
  const tables = webhookTables(store.statements);
  const signer = webhookSigner(store.meta, ports.options.brand);
  const dispatcher = createDispatcher(ports, tables, signer);

  /**
   * The job's own URL, else the workspace's current default: a later change of the default does not affect the
   * delivery.
   */
  function targetOf(job: JobRow): Pick<DeliveryRow, "url" | "source"> | null {
    if (job.webhook !== null) return { url: job.webhook, source: "per_job" };
    const byDefault = tables.defaults.get(job.workspaceId);
    return byDefault?.enabled === 1 ? { url: byDefault.url, source: "default" } : null;
  }

  ports.hooks.add({
    accepted(job) {
      const target = job.kind === "chat" ? null : targetOf(job);
      if (!target) return;
      const { seq: jobSeq, jobId, workspaceId, ownerId, model } = job;
      const fixed = { jobSeq, jobId, workspaceId, ownerId, model, createdAt: clock.now(), copies: 1 };
      tables.insert({ ...NEW_DELIVERY, ...fixed, ...target });
    },
    ended(job) {
      const delivery = tables.byJob(job.seq);
      if (!delivery) return;
      const fault = faults.webhook({ model: job.model, prompt: promptOf(JSON.parse(job.input)) });
      if (fault.never) return;
      const event = job.status === "COMPLETED" ? "job.completed" : "job.failed";
      const due = fire({ ...delivery, copies: fault.duplicate ? 2 : 1 }, event, clock.now() + fault.delayMs);
      tables.update(due);
      store.afterCommit(() => dispatcher.schedule(due));
    },
  });

  return {
    endpoints: webhookEndpoints(ports, tables, signer, dispatcher),
    /** Resumes deliveries that an earlier process left unsent. */
    recover: dispatcher.recover,
    /** Starts no further attempt. */
    close: dispatcher.close,
  };
}

export type Webhooks = ReturnType<typeof createWebhooks>;
