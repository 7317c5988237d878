import { createHmac, timingSafeEqual } from "node:crypto";
import { EventEmitter } from "node:events";
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
  readonly hooks: HookBus;
  readonly hub: EventHub;
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

/** Returns a function that records a job's events. Call it inside a transaction. */
export function eventRecorder(store: Store, hooks: HookBus, hub: EventHub, now: () => number) {
  return (job: JobRow, events: readonly NewEvent[]): void => {
    const rows = store.events.append(job.seq, job.lastEventId, now(), events);
    store.jobs.setLastEvent(job.seq, job.lastEventId + rows.length);
    hooks.logged(job, rows);
    store.afterCommit(() => hub.wake(job.seq));
  };
}

type EventRecorder = ReturnType<typeof eventRecorder>;

export function createEventHub() {
  const wakes = new EventEmitter().setMaxListeners(0);
  return {
    wake: (jobSeq: number) => void wakes.emit(String(jobSeq)),
    subscribe(jobSeq: number, listener: () => void): () => void {
      wakes.on(String(jobSeq), listener);
      return () => void wakes.off(String(jobSeq), listener);
    },
  };
}

type EventHub = ReturnType<typeof createEventHub>;

/** Callbacks that run inside the transaction that changes a job. */
interface JobHooks {
  /** Called when a job other than a chat is accepted. */
  accepted?(job: JobRow): void;
  logged?(job: JobRow, events: readonly EventRow[]): void;
  ended?(job: JobRow): void;
}

export function createHooks() {
  const listeners: JobHooks[] = [];
  return {
    add: (hooks: JobHooks) => void listeners.push(hooks),
    accepted: (job: JobRow) => listeners.forEach((listener) => void listener.accepted?.(job)),
    logged: (job: JobRow, events: readonly EventRow[]) =>
      listeners.forEach((listener) => void listener.logged?.(job, events)),
    ended: (job: JobRow) => listeners.forEach((listener) => void listener.ended?.(job)),
  };
}

type HookBus = ReturnType<typeof createHooks>;

export function createPresigner(key: string, origin: () => string) {
  const mac = (path: string, expires: string) =>
    createHmac("sha256", key).update(`${path}\n${expires}`).digest("base64url");
  return {
    sign(path: string, expiresAtMs: number): string {
      const expires = String(Math.floor(expiresAtMs / 1000));
      return `${origin()}${path}?expires=${expires}&signature=${mac(path, expires)}`;
    },
    verify(path: string, expires: string, signature: string, now: number): "valid" | "expired" | "forged" {
      const expected = Buffer.from(mac(path, expires));
      const given = Buffer.from(signature);
      if (expected.length !== given.length || !timingSafeEqual(expected, given)) return "forged";
      return Number(expires) * 1000 > now ? "valid" : "expired";
    },
  };
}

type Presigner = ReturnType<typeof createPresigner>;
