import type { Catalog } from "./catalog/catalog.ts";
import type { ClockControl } from "./clock/clock.ts";
import type { DataDir } from "./data-dir.ts";
import type { FaultEngine, JobFaults } from "./faults/engine.ts";
import type { EventHub, EventRecorder, HookBus } from "./jobs/hooks.ts";
import type { JobViews } from "./jobs/views.ts";
import type { Presigner } from "./media/presign.ts";
import type { createRefusalCount } from "./money.ts";
import type { NormalOptions } from "./options.ts";
import type { Outbound } from "./outbound/outbound.ts";
import type { ProbeResult, Renderer } from "./render/contract.ts";
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
  /** Signs URLs and ids. It never leaves the data folder. */
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

export type Metrics = ReturnType<typeof createMetrics>;
