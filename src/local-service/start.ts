import { rmSync } from "node:fs";
import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import type { FolderLock } from "../core/kit/folder-lock.ts";
import { authenticator, rateLimiter } from "./access/authenticate.ts";
import { accessEndpoints } from "./access/endpoints.ts";
import { chatEndpoints } from "./chat/endpoints.ts";
import type { ClockControl } from "./clock/clock.ts";
import { lockDataDir } from "./data-dir.ts";
import { faultInterceptor } from "./faults/interceptor.ts";
import { type FaultRule, loadFaults } from "./faults/rules.ts";
import { type Endpoint, endpoint } from "./http/call.ts";
import { createKernel, type KernelPorts } from "./http/kernel.ts";
import { listen } from "./http/listen.ts";
import { jobEndpoints } from "./jobs/endpoints.ts";
import { submitHandler } from "./jobs/submit.ts";
import { mountDownloads } from "./media/download.ts";
import { uploadHandler } from "./media/upload.ts";
import { modelEndpoints } from "./models/endpoints.ts";
import { openService } from "./open-service.ts";
import { described, describedOperator } from "./openapi/document.ts";
import { funder, operatorEndpoints } from "./operator/endpoints.ts";
import { readStats, type ServiceStats } from "./operator/stats.ts";
import { type LocalServiceOptions, type NormalOptions, normalize } from "./options.ts";
import { openReplay, withReplay } from "./replay/index.ts";
import { CLOCK_OFFSET, startRetention } from "./runner/retention.ts";
import type { ServiceContext } from "./service-context.ts";
import { usageEndpoints } from "./usage/endpoints.ts";

/** Every endpoint below `/v3`, in the order of the documentation. Each feature adds its own list here. */
export function apiEndpoints(service: ServiceContext): readonly Endpoint[] {
  return [
    ...modelEndpoints(service),
    endpoint("POST", "/models/{model}", "jobs:write", "Submit a job", submitHandler(service)),
    ...jobEndpoints(service),
    endpoint("POST", "/files", "files:write", "Upload an input file", uploadHandler(service)),
    ...usageEndpoints(service),
    ...accessEndpoints(service),
    ...service.webhooks.endpoints,
    ...chatEndpoints(service),
    ...service.drains.endpoints,
  ];
}

/** The HTTP application: API, operator endpoints and downloads. */
export function createServiceApp(service: ServiceContext): Hono<{ Bindings: HttpBindings }> {
  const { store, clock, options, metrics } = service;
  const replay = openReplay(service);
  const ports: KernelPorts = {
    authenticate: authenticator(store, clock),
    limit: rateLimiter(options.rateLimit, clock),
    count: metrics.count,
    now: clock.now,
    onDefect: service.onDefect,
    strict: options.strict,
    interceptor: withReplay(faultInterceptor(service.faultEngine, service), replay),
  };
  const tables = {
    "/v3": described(apiEndpoints(service), service.catalog, options),
    "/_local": describedOperator(operatorEndpoints(service)),
  };
  const app = createKernel(tables, ports);
  mountDownloads(app, service, replay?.file ?? null);
  return app;
}

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

async function run(options: NormalOptions, lock: FolderLock): Promise<LocalService> {
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
