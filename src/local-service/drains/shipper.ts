import { delayAfter, Outbox } from "../outbound/outbox.ts";
import { codeOf, type Outcome, statusOf } from "../outbound/outcome.ts";
import type { ServiceParts } from "../service-parts.ts";
import { drainMessage } from "./message.ts";
import { failed, shipped } from "./state.ts";
import type { DrainEventRow, DrainRow, DrainTables } from "./tables.ts";

/**
 * Maximum number of drains served concurrently; each has at most one batch in flight, so its events arrive in order.
 */
const LIMITS = { total: 8, perLane: 1 } as const;

/** How long events are collected before a batch is posted, in milliseconds on the service's clock. */
const GATHER_MS = 250;

/** Posts pending events to drains, batch by batch. */
export interface Shipper {
  /** The drain has new pending events. */
  nudge(drainSeq: number): void;
  /** A person changed the drain, which ends its retry delay. */
  restart(drainSeq: number): void;
  close(): void;
}

type Ports = Pick<ServiceParts, "store" | "clock" | "outbound" | "options" | "onDefect">;

export function createShipper(ports: Ports, tables: DrainTables, prune: (workspaceId: string) => void): Shipper {
  const { store, clock, outbound } = ports;
  const outbox = new Outbox(ports, LIMITS, serve);
  /** Waiting for an instant, queued, or sending. */
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
    if (outbox.closed || drain?.enabled !== 1) return null;
    const rows = tables.events(drain.workspaceId, drain.position, drain.batchSize);
    return rows.length === 0 ? null : { drain, rows };
  }

  /** The drain may have been changed or removed while the batch was in flight. */
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
    nudge(seq) {
      if (!outbox.closed && !timers.has(seq) && !turns.has(seq)) at(seq, clock.now() + GATHER_MS);
    },
    restart(seq) {
      timers.get(seq)?.();
      timers.delete(seq);
      if (!outbox.closed && !turns.has(seq)) at(seq, clock.now());
    },
    close: () => outbox.close(),
  };
}
