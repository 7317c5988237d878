import { Outbox } from "../outbound/outbox.ts";
import type { Outcome } from "../outbound/outcome.ts";
import type { Message } from "../outbound/post.ts";
import type { ServiceParts } from "../service-parts.ts";
import { begin, end, interrupted, isDue } from "./delivery.ts";
import type { WebhookSigner } from "./signature.ts";
import type { DeliveryRow, WebhookTables } from "./tables.ts";

/** Maximum concurrent POSTs, in all and per host. */
const LIMITS = { total: 32, perLane: 8 } as const;

/** Sends deliveries when they are due. */
export interface Dispatcher {
  /** Call after the commit that made it due. */
  schedule(delivery: DeliveryRow): void;
  /** Resumes deliveries that an earlier process left unsent. */
  recover(): Promise<void>;
  close(): void;
}

type Ports = Pick<ServiceParts, "store" | "clock" | "views" | "outbound" | "onDefect">;

function laneOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

export function createDispatcher(ports: Ports, tables: WebhookTables, signer: WebhookSigner): Dispatcher {
  const { store, clock, views, outbound } = ports;
  const outbox = new Outbox(ports, LIMITS, attempt);

  function schedule(delivery: DeliveryRow): void {
    const { seq, nextAttemptAt } = delivery;
    if (nextAttemptAt === null || outbox.closed) return;
    clock.at(nextAttemptAt, () => outbox.push(laneOf(delivery.url), seq));
  }

  /** Built for each attempt, since URLs in the body are signed anew. */
  function messageOf(delivery: DeliveryRow): Message | null {
    const job = store.jobs.bySeq(delivery.jobSeq);
    if (!job || delivery.event === null) return null;
    const body = Buffer.from(JSON.stringify(views.result(job, "payload")));
    const { jobId: id, event, attempts: attempt, redeliveryCount } = delivery;
    const announcement = { id, event, attempt, redelivery: redeliveryCount > 0, signedAt: clock.now() };
    return { body, headers: signer.headers(announcement, body) };
  }

  function makeMessage(delivery: DeliveryRow): Message | null {
    try {
      return messageOf(delivery);
    } catch (error) {
      ports.onDefect(error, "");
      return null;
    }
  }

  function post(delivery: DeliveryRow): Promise<Outcome | null> {
    const message = makeMessage(delivery);
    return message ? outbound.post(delivery.url, message) : Promise.resolve({ is: "no-body" });
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
    async recover() {
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
