import type { Endpoint } from "../http/call.ts";
import type { ServiceParts } from "../service-parts.ts";
import type { EventRow, JobRow } from "../store/rows.ts";
import { type DrainRegister, drainEndpoints } from "./endpoints.ts";
import { createShipper } from "./shipper.ts";
import { drainTables } from "./tables.ts";

/** Retention of undelivered events: their maximum age in milliseconds, and their maximum number per workspace. */
const KEEP_MS = 7 * 86_400_000;
const KEEP_EVENTS = 100_000;
/** Events stored between two checks of those limits. */
const PRUNE_EVERY = 1000;

/** Sends lifecycle events of a workspace's jobs to its log drains. */
export interface Drains {
  readonly endpoints: readonly Endpoint[];
  /** Resumes delivery of events that an earlier process left unsent. */
  recover(): void;
  /** Starts no further batch. */
  close(): void;
}

type Ports = Pick<ServiceParts, "store" | "clock" | "outbound" | "hooks" | "options" | "onDefect">;

export function createDrains(ports: Ports): Drains {
  const { store, clock } = ports;
  const tables = drainTables(store.statements);
  const shipper = createShipper(ports, tables, prune);
  /** Workspaces that have, or had, a drain: jobs of other workspaces skip the query. */
  const workspaces = new Set(tables.all().map((drain) => drain.workspaceId));
  let stored = 0;

  /** A disabled drain keeps its cursor, within the limits. */
  function prune(workspaceId: string): void {
    const positions = tables.ofWorkspace(workspaceId).map((drain) => drain.position);
    const takenByAll = positions.length === 0 ? Number.MAX_SAFE_INTEGER : Math.min(...positions);
    tables.prune(workspaceId, takenByAll, clock.now() - KEEP_MS, KEEP_EVENTS);
  }

  function logged(job: JobRow, events: readonly EventRow[]): void {
    if (!workspaces.has(job.workspaceId)) return;
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

  ports.hooks.add({ logged });

  const register: DrainRegister = {
    added: (drain) => void workspaces.add(drain.workspaceId),
    changed: (drain) => shipper.restart(drain.seq),
    removed: (drain) => prune(drain.workspaceId),
  };

  return {
    endpoints: drainEndpoints(ports, tables, register),
    recover() {
      for (const drain of tables.all()) if (drain.enabled === 1) shipper.restart(drain.seq);
    },
    close: shipper.close,
  };
}
