import { rmSync } from "node:fs";
import { createServiceApp } from "./app.ts";
import type { ClockControl } from "./clock/clock.ts";
import { type DataDirLock, lockDataDir } from "./data-dir.ts";
import { type FaultRule, loadFaults } from "./faults/rules.ts";
import { listen } from "./http/listen.ts";
import { openService } from "./open-service.ts";
import { funder } from "./operator/endpoints.ts";
import { readStats, type ServiceStats } from "./operator/stats.ts";
import { type LocalServiceOptions, type NormalOptions, normalize } from "./options.ts";
import { CLOCK_OFFSET, startRetention } from "./runner/retention.ts";
import type { ServiceContext } from "./service-context.ts";

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
  /**
   * Replaces all faults; an empty list removes them. The same seed selects the same matches. @throws LocalServiceError
   */
  faults(rules: readonly FaultRule[], seed?: number): void;
  /** The service's clock: real, scaled, or manual. */
  readonly clock: ClockControl;
  /** Ends streams cleanly, stops rendering, closes the store. Unfinished jobs resume at the next start. */
  close(): Promise<void>;
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
  service.store.meta.set(CLOCK_OFFSET, String(Math.max(0, service.clock.now() - Date.now())));
  service.store.close();
}

async function run(options: NormalOptions, lock: DataDirLock): Promise<LocalService> {
  const { service, apiKey, setOrigin } = await openService(options);
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
    if (normal.isTemporary) rmSync(normal.dataDir, { recursive: true, force: true });
    throw error;
  }
}
