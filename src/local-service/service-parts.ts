import { createHmac, timingSafeEqual } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { Catalog } from "./catalog/catalog.ts";
import type { ClockControl } from "./clock/clock.ts";
import type { DataDir } from "./data-dir.ts";
import type { FaultEngine, JobFaults } from "./faults/engine.ts";
import type { JobViews } from "./jobs/views.ts";
import type { createRefusalCount } from "./money.ts";
import type { NormalOptions } from "./options.ts";
import type { Outbound } from "./outbound/outbound.ts";
import type { ProbeResult, Renderer } from "./render/contract.ts";
import type { EventRow, JobRow, NewEvent } from "./store/rows.ts";
import type { Store } from "./store/store.ts";
import type { OpenStreams } from "./stream/open-streams.ts";

export interface ServiceParts {
  readonly options: NormalOptions;
  readonly store: Store;
  readonly clock: ClockControl;
  readonly dataDir: DataDir;
  readonly catalog: Catalog;
  readonly presigner: Presigner;
  readonly renderer: Renderer;
  readonly probe: (path: string) => Promise<ProbeResult>;
  readonly hooks: JobHooks;
  /** Emits an event after each change to a job's events. The name of the emitted event is the job's `seq`. */
  readonly hub: EventEmitter;
  readonly outbound: Outbound;
  readonly streams: OpenStreams;
  readonly record: EventRecorder;
  readonly views: JobViews;
  readonly metrics: Metrics;
  readonly refusals: ReturnType<typeof createRefusalCount>;
  readonly faults: JobFaults;
  readonly faultEngine: FaultEngine;
  /** Key that signs URLs and ids. It never leaves the data folder. */
  readonly secret: string;
  origin(): string;
  fundingUrl(workspaceId: string): string;
  onDefect(error: unknown, traceId: string): void;
}

const MOST_UNRECORDED = 1_000;

export function createMetrics() {
  const requests: Record<string, Record<string, number>> = {};
  let replayed = 0;
  const unrecorded: string[] = [];
  return {
    count(route: string, status: number): void {
      requests[route] ??= {};
      const byStatus = requests[route];
      byStatus[status] = (byStatus[status] ?? 0) + 1;
    },
    replayed(): void {
      replayed += 1;
    },
    unrecorded(request: string): void {
      if (unrecorded.length < MOST_UNRECORDED) unrecorded.push(request);
    },
    snapshot: () => ({ requests: structuredClone(requests), replayed, unrecorded: [...unrecorded] }),
  };
}

type Metrics = ReturnType<typeof createMetrics>;

/** Events about a job, emitted inside the transaction that changes it. For a chat, `accepted` is not emitted. */
export type JobHooks = EventEmitter<{
  accepted: [job: JobRow];
  logged: [job: JobRow, events: readonly EventRow[]];
  ended: [job: JobRow];
}>;

/** Returns a function that records a job's events. Call it inside a transaction. */
export function eventRecorder(store: Store, hooks: JobHooks, hub: EventEmitter, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.emit("logged", job, rows);
    store.afterCommit(() => hub.emit(String(job.seq)));
  };
}

type EventRecorder = ReturnType<typeof eventRecorder>;

export function createPresigner(key: string, origin: () => string) {
  const mac = (path: string, expires: string) =>
    createHmac("sha256", key).update(`${path}\n${expires}`).digest("base64url");
  return {
    sign(path: string, expiresAtMs: number): string {
      const expires = String(Math.floor(expiresAtMs / 1000));
      return `${origin()}${path}?expires=${expires}&signature=${mac(path, expires)}`;
    },
    verify({ pathname, searchParams }: URL, now: number): "valid" | "expired" | "forged" {
      const expires = searchParams.get("expires") ?? "";
      const expected = Buffer.from(mac(pathname, expires));
      const given = Buffer.from(searchParams.get("signature") ?? "");
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) return "forged";
      return Number(expires) * 1000 > now ? "valid" : "expired";
    },
  };
}

type Presigner = ReturnType<typeof createPresigner>;
