import { DAY_MS } from "../../core/kit/duration.ts";
import { codeOf, type Outcome, statusOf } from "../outbound/outbound.ts";
import { createOutbox, delayAfter } from "../outbound/outbox.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { EventRow, JobRow } from "../store/rows.ts";
import { drainEndpoints } from "./endpoints.ts";
import { drainMessage } from "./message.ts";
import { type DrainEventRow, type DrainRow, type DrainTables, drainTables, failed, shipped } from "./tables.ts";

/** Maximum number of concurrent batches, in total and per drain. One per drain keeps the drain's events in order. */
const LIMITS = { total: 8, perLane: 1 } as const;

/** How long events are collected before a batch is sent, in milliseconds on the service's clock. */
const GATHER_MS = 250;

function createShipper(ports: ServiceParts, tables: DrainTables, prune: (workspaceId: string) => void) {
  const { store, clock, outbound } = ports;
  const outbox = createOutbox(ports, LIMITS, serve);
  const timers = new Map<number, () => void>();
  const turns = new Set<number>();

  function at(seq: number, dueMs: number): void {
    const cancel = clock.at(dueMs, () => {
      timers.delete(seq);
      turns.add(seq);
      outbox.push(String(seq), seq);
    });
    timers.set(seq, cancel);
  }

  function batchOf(seq: number): { readonly drain: DrainRow; readonly rows: readonly DrainEventRow[] } | null {
    const drain = tables.bySeq(seq);
    if (outbox.isClosed() || drain?.enabled !== 1) return null;
    const rows = tables.events(drain.workspaceId, drain.position, drain.batchSize);
    return rows.length === 0 ? null : { drain, rows };
  }

  /** Records the outcome of a delivery. Reads the drain again, because it may have changed during the request. */
  function note(seq: number, position: number, outcome: Outcome): DrainRow | null {
    const drain = tables.bySeq(seq);
    if (!drain) return null;
    const error = codeOf(outcome);
    const now = clock.now();
    const next = error === null ? shipped(drain, position, now) : failed(drain, error, statusOf(outcome), now);
    tables.update(next);
    if (error === null) prune(drain.workspaceId);
    return next;
  }

  async function serve(seq: number): Promise<void> {
    try {
      for (let batch = batchOf(seq); batch; batch = batchOf(seq)) {
        const { drain, rows } = batch;
        const outcome = await outbound.post(drain.url, drainMessage(drain, rows, ports.options.brand));
        if (outcome === null) return;
        const position = rows.at(-1)!.seq;
        const noted = await store.write(() => note(seq, position, outcome));
        const failures = noted?.consecutiveFailures ?? 0;
        if (failures === 0) continue;
        if (noted?.enabled === 1) at(seq, clock.now() + delayAfter(failures));
        return;
      }
    } finally {
      turns.delete(seq);
    }
  }

  return {
    nudge(seq: number): void {
      if (!outbox.isClosed() && !timers.has(seq) && !turns.has(seq)) at(seq, clock.now() + GATHER_MS);
    },
    restart(seq: number): void {
      timers.get(seq)?.();
      timers.delete(seq);
      if (!outbox.isClosed() && !turns.has(seq)) at(seq, clock.now());
    },
    close: outbox.close,
  };
}

/** Maximum age of stored events. Older events are deleted even if they were not delivered. */
const KEEP_MS = 7 * DAY_MS;
const KEEP_EVENTS = 100_000;
const PRUNE_EVERY = 1000;

export function createDrains(ports: ServiceParts) {
  const { store, clock } = ports;
  const tables = drainTables(store.statements);
  const shipper = createShipper(ports, tables, prune);
  let stored = 0;

  function prune(workspaceId: string): void {
    const positions = tables.ofWorkspace(workspaceId).map((drain) => drain.position);
    const deliveredToAll = positions.length === 0 ? Number.MAX_SAFE_INTEGER : Math.min(...positions);
    tables.prune(workspaceId, deliveredToAll, clock.now() - KEEP_MS, KEEP_EVENTS);
  }

  function logged(job: JobRow, events: readonly EventRow[]): void {
    const drains = tables.ofWorkspace(job.workspaceId);
    if (drains.length === 0) return;
    const { workspaceId, jobId, model } = job;
    for (const { at, level, event, message, source, data } of events) {
      tables.addEvent({ workspaceId, jobId, model, at, level, event, message, source, data });
    }
    stored += events.length;
    if (stored >= PRUNE_EVERY) {
      stored = 0;
      prune(workspaceId);
    }
    store.afterCommit(() => {
      for (const drain of drains) if (drain.enabled === 1) shipper.nudge(drain.seq);
    });
  }

  ports.hooks.on("logged", logged);

  return {
    endpoints: drainEndpoints(ports, tables, {
      changed: (drain) => shipper.restart(drain.seq),
      removed: (drain) => prune(drain.workspaceId),
    }),
    recover(): void {
      for (const drain of tables.all()) if (drain.enabled === 1) shipper.restart(drain.seq);
    },
    close: shipper.close,
  };
}

export type Drains = ReturnType<typeof createDrains>;
