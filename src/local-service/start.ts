import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { createServiceApp } from "./app.ts";
import { createCatalog } from "./catalog/catalog.ts";
import { loadCatalog } from "./catalog/load.ts";
import type { ClockControl } from "./clock/clock.ts";
import { createClock } from "./clock/clock.ts";
import { openDataDir } from "./data-dir/data-dir.ts";
import { type DataDirLock, lockDataDir } from "./data-dir/lock.ts";
import { createDrains } from "./drains/drains.ts";
import { FaultEngine } from "./faults/engine.ts";
import { jobFaults } from "./faults/job-faults.ts";
import { loadFaults } from "./faults/load.ts";
import type { FaultRule } from "./faults/rules.ts";
import { listen } from "./http/listen.ts";
import { createEventHub } from "./jobs/event-hub.ts";
import { createHooks } from "./jobs/hooks.ts";
import { eventRecorder } from "./jobs/record.ts";
import { jobViews } from "./jobs/views.ts";
import { createPresigner } from "./media/presign.ts";
import { createMetrics } from "./metrics.ts";
import { openRenderer } from "./open-renderer.ts";
import { funder } from "./operator/endpoints.ts";
import { openAccounts } from "./operator/first-key.ts";
import { readStats, type ServiceStats } from "./operator/stats.ts";
import { type LocalServiceOptions, type NormalOptions, normalize } from "./options.ts";
import { createOutbound, type Outbound } from "./outbound/outbound.ts";
import { startRetention } from "./runner/retention.ts";
import { createRunner } from "./runner/runner.ts";
import type { ServiceContext } from "./service-context.ts";
import { openStore, type Store } from "./store/store.ts";
import { createOpenStreams } from "./stream/open-streams.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

/** A running service. */
export interface LocalService {
  /** Ends in `/v3`. */
  readonly baseUrl: string;
  /** `<key_id>:<secret>` of the first key. */
  readonly apiKey: string;
  readonly port: number;
  readonly dataDir: string;
  /** Counts of jobs, money and requests, as `GET /_local/stats` shows them. */
  stats(): ServiceStats;
  /** Adds dollars to a workspace; default: the first one. */
  fund(dollars: number, workspaceId?: string): Promise<void>;
  /** Replaces all faults; an empty list takes them away. The same seed strikes the same matches. @throws LocalServiceError */
  faults(rules: readonly FaultRule[], seed?: number): void;
  /** The service's time: real, scaled, or held by hand. */
  readonly clock: ClockControl;
  /** Ends streams cleanly, stops rendering, closes the store. Unfinished jobs go on at the next start. */
  close(): Promise<void>;
}

const OFFSET = "clock_offset_ms";

/** The clock goes on from where an earlier process left it, so that time never runs backwards for a data folder. */
function openClock(store: Store, outbound: Outbound): ClockControl {
  const settle = async () => {
    store.flush();
    await new Promise((resolve) => setImmediate(resolve));
    store.flush();
    await outbound.idle();
  };
  return createClock({ offsetMs: Number(store.meta.get(OFFSET) ?? 0), settle });
}

function signingSecret(store: Store): string {
  const known = store.meta.get("secret");
  if (known !== null) return known;
  const made = randomBytes(32).toString("base64url");
  store.meta.set("secret", made);
  return made;
}

interface Opened {
  readonly service: ServiceContext;
  readonly apiKey: string;
  setOrigin(origin: string): void;
}

async function open(options: NormalOptions): Promise<Opened> {
  let origin = "http://127.0.0.1";
  const definitions = loadCatalog(options.catalog);
  const store = openStore(options.dataDir);
  const outbound = createOutbound({
    allowLoopback: options.deliverToLoopback,
    timeoutMs: options.deliveryTimeoutMs,
    ownPort: () => Number(new URL(origin).port),
  });
  const clock = openClock(store, outbound);
  const secret = signingSecret(store);
  const hooks = createHooks();
  const hub = createEventHub();
  const faultEngine = new FaultEngine();
  faultEngine.set(options.faults.rules, options.faults.seed);
  const presigner = createPresigner(secret, () => origin);
  const base = {
    options,
    store,
    clock,
    secret,
    hooks,
    hub,
    outbound,
    presigner,
    dataDir: openDataDir(options.dataDir),
    catalog: createCatalog(definitions),
    ...(await openRenderer(options)),
    streams: createOpenStreams(),
    metrics: createMetrics(),
    record: eventRecorder(store, hooks, hub, clock.now),
    views: jobViews({ store, now: clock.now, sign: presigner.sign }),
    faultEngine,
    faults: jobFaults(faultEngine),
    origin: () => origin,
    fundingUrl: (workspaceId: string) => `${origin}/_local/fund?workspace_id=${encodeURIComponent(workspaceId)}`,
    onDefect: options.onDefect,
  };
  const service: ServiceContext = {
    ...base,
    runner: createRunner(base),
    webhooks: createWebhooks(base),
    drains: createDrains(base),
  };
  const apiKey = await openAccounts(store, options, clock.now());
  const setOrigin = (value: string) => {
    origin = value;
  };
  return { service, apiKey, setOrigin };
}

async function shutDown(service: ServiceContext, stopListening: () => Promise<void>, stopRetention: () => void) {
  service.streams.shutDown();
  service.webhooks.close();
  service.drains.close();
  await service.outbound.close();
  await stopListening();
  await service.runner.close();
  stopRetention();
  service.clock.stop();
  await service.renderer.close();
  service.store.meta.set(OFFSET, String(Math.max(0, service.clock.now() - Date.now())));
  service.store.close();
}

async function run(options: NormalOptions, lock: DataDirLock): Promise<LocalService> {
  const { service, apiKey, setOrigin } = await open(options);
  const server = await listen(createServiceApp(service), options).catch((error: unknown) => {
    service.store.close();
    throw error;
  });
  setOrigin(server.origin);
  const baseUrl = `${server.origin}/v3`;
  await service.webhooks.recover();
  service.drains.recover();
  await service.runner.recover();
  const stopRetention = startRetention(service);
  lock.announce({ port: server.port, baseUrl, apiKey, startedAt: new Date().toISOString() });
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    await shutDown(service, server.close, stopRetention);
    lock.release();
    if (options.isTemporary) rmSync(options.dataDir, { recursive: true, force: true });
  }

  return {
    baseUrl,
    apiKey,
    port: server.port,
    dataDir: options.dataDir,
    stats: () => readStats(service),
    fund: funder(service),
    faults(rules, seed = 0) {
      const loaded = loadFaults({ rules, seed });
      service.faultEngine.set(loaded.rules, loaded.seed);
    },
    clock: service.clock,
    close: () => (closing ??= close()),
  };
}

/**
 * Starts the v3 service on this machine, with its state in a folder.
 * @throws LocalServiceError `PORT_IN_USE`, `DATA_DIR_IN_USE`, `DATA_DIR_UNUSABLE`, `OPTION_INVALID`, `CATALOG_INVALID`
 */
export async function startLocalService(options: LocalServiceOptions = {}): Promise<LocalService> {
  const normal = normalize(options);
  const lock = lockDataDir(normal.dataDir);
  try {
    return await run(normal, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}
