import { promptOf } from "../faults/job-faults.ts";
import type { Endpoint } from "../http/call.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { JobRow } from "../store/rows.ts";
import { fire, NEW_DELIVERY } from "./delivery.ts";
import { createDispatcher } from "./dispatcher.ts";
import { webhookEndpoints } from "./endpoints.ts";
import { webhookSigner } from "./signature.ts";
import { type DeliveryRow, webhookTables } from "./tables.ts";

/** Signed webhooks for finished jobs. */
export interface Webhooks {
  readonly endpoints: readonly Endpoint[];
  /** Resumes deliveries that an earlier process left unsent. */
  recover(): Promise<void>;
  /** Starts no further attempt. */
  close(): void;
}

type Ports = Pick<ServiceParts, "store" | "clock" | "views" | "outbound" | "hooks" | "faults" | "options" | "onDefect">;

export function createWebhooks(ports: Ports): Webhooks {
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
    settled(job) {
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
    recover: dispatcher.recover,
    close: dispatcher.close,
  };
}
