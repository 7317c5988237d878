import { createHash, randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import { rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import type { FolderLock } from "../core/kit/folder-lock.ts";
import { greyMp4, greyPng, HEARD_MP4, plainWav } from "../core/kit/placeholder-media.ts";
import { authenticator, rateLimiter } from "./access/authenticate.ts";
import { accessEndpoints } from "./access/endpoints.ts";
import { createCatalog } from "./catalog/catalog.ts";
import { loadCatalog } from "./catalog/load.ts";
import { chatEndpoints } from "./chat/endpoints.ts";
import { type ClockControl, createClock } from "./clock/clock.ts";
import { lockDataDir, openDataDir } from "./data-dir.ts";
import { createDrains } from "./drains/drains.ts";
import { FaultEngine, jobFaults } from "./faults/engine.ts";
import { faultInterceptor } from "./faults/interceptor.ts";
import { type FaultRule, loadFaults } from "./faults/rules.ts";
import { type Endpoint, endpoint } from "./http/call.ts";
import { createKernel, type KernelPorts } from "./http/kernel.ts";
import { listen } from "./http/listen.ts";
import { jobEndpoints } from "./jobs/endpoints.ts";
import { submitHandler } from "./jobs/submit.ts";
import { jobViews } from "./jobs/views.ts";
import { mountDownloads } from "./media/download.ts";
import { uploadHandler } from "./media/upload.ts";
import { modelEndpoints } from "./models/endpoints.ts";
import { createRefusalCount } from "./money.ts";
import { described, describedOperator } from "./openapi/document.ts";
import { forOperator, funder, openAccounts, operatorEndpoints } from "./operator/endpoints.ts";
import { readStats, type ServiceStats } from "./operator/stats.ts";
import { type LocalServiceOptions, type NormalOptions, normalize } from "./options.ts";
import { createOutbound, type Outbound } from "./outbound/outbound.ts";
import type { ProbeResult, Renderer, RenderRequest, RenderResult } from "./render/contract.ts";
import { withMark } from "./render/placeholder.ts";
import { openReplay, withReplay } from "./replay/replayer.ts";
import { CLOCK_OFFSET, startRetention } from "./runner/retention.ts";
import { createRunner } from "./runner/runner.ts";
import type { ServiceContext } from "./service-context.ts";
import { createMetrics, createPresigner, eventRecorder, type JobHooks } from "./service-parts.ts";
import { openStore, type Store } from "./store/store.ts";
import { createOpenStreams } from "./stream/open-streams.ts";
import { usageEndpoints } from "./usage/endpoints.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

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
    "/_local": forOperator(describedOperator(operatorEndpoints(service))),
  };
  const app = createKernel(tables, ports);
  mountDownloads(app, service, replay?.file ?? null);
  return app;
}

/** A running service. */
export interface LocalService {
  /** URL of the API, ending in `/v3`. */
  readonly baseUrl: string;
  /** `<key_id>:<secret>` of the first key. */
  readonly apiKey: string;
  /** The port on which the service listens. */
  readonly port: number;
  /** The folder that contains the database and the media. */
  readonly dataDir: string;
  /** Returns job counts, request counts and amounts of money, as `GET /_local/stats` does. */
  stats(): ServiceStats;
  /** Adds US dollars to the wallet of a workspace, by default the first workspace. */
  fund(dollars: number, workspaceId?: string): Promise<void>;
  /**
   * Replaces all fault rules. `seed` makes random choices repeatable.
   * @throws LocalServiceError
   */
  faults(rules: readonly FaultRule[], seed?: number): void;
  /** The service's clock: real, scaled, or manual. */
  readonly clock: ClockControl;
  /** Ends streams cleanly, stops rendering, and closes the database. Unfinished jobs resume at the next start. */
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
  const address = { origin: "http://127.0.0.1" };
  const service = await openService(options, address);
  const apiKey = await openAccounts(service.store, options, service.clock.now());
  const server = await listen(createServiceApp(service), options).catch((error: unknown) => {
    service.store.close();
    throw error;
  });
  address.origin = server.origin;
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
 * Starts the v3 service on this machine.
 * @throws LocalServiceError
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

async function rendererOf({ renderer }: NormalOptions): Promise<Renderer> {
  if (renderer === "stub") return createStubRenderer();
  return renderer === "real" ? (await import("./render/index.ts")).createRenderer() : renderer;
}

/** Creates the clock with the stored offset, so that time does not run backwards after a restart. */
function openClock(store: Store, outbound: Outbound): ClockControl {
  const afterTimer = async () => {
    store.flush();
    await new Promise((resolve) => setImmediate(resolve));
    store.flush();
    await outbound.idle();
  };
  return createClock({ offsetMs: Number(store.meta.get(CLOCK_OFFSET) ?? 0), afterTimer });
}

function signingSecret(store: Store): string {
  const known = store.meta.get("secret");
  if (known !== null) return known;
  const secret = randomBytes(32).toString("base64url");
  store.meta.set("secret", secret);
  return secret;
}

/** Opens all parts of the service. `address.origin` is set only once the service listens. */
async function openService(options: NormalOptions, address: { readonly origin: string }): Promise<ServiceContext> {
  const origin = () => address.origin;
  const offered = loadCatalog(options.catalog, options);
  const store = openStore(options.dataDir);
  const outbound = createOutbound({
    allowLoopback: options.deliverToLoopback,
    timeoutMs: options.deliveryTimeoutMs,
    ownPort: () => Number(new URL(origin()).port),
  });
  const clock = openClock(store, outbound);
  const secret = signingSecret(store);
  const hooks: JobHooks = new EventEmitter();
  const hub = new EventEmitter().setMaxListeners(0);
  const faultEngine = new FaultEngine();
  faultEngine.set(options.faults.rules, options.faults.seed);
  // Hosted services have their own billing console. This name never resolves (RFC 2606).
  const billing = `https://console.${options.brand.toLowerCase()}.example/billing`;
  const fundingPage = () => (options.strict ? billing : `${origin()}/_local/fund`);
  const presigner = createPresigner(secret, origin);
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
    catalog: createCatalog(offered, options.families),
    renderer: await rendererOf(options),
    probe: async (path: string): Promise<ProbeResult> => (await import("./render/index.ts")).probe(path),
    streams: createOpenStreams(),
    metrics: createMetrics(),
    refusals: createRefusalCount(),
    record: eventRecorder(store, hooks, hub, clock.now),
    views: jobViews({ store, now: clock.now, sign: presigner.sign, ...options }),
    faultEngine,
    faults: jobFaults(faultEngine),
    origin,
    fundingUrl: (workspaceId: string) => `${fundingPage()}?workspace_id=${encodeURIComponent(workspaceId)}`,
    onDefect: options.onDefect,
  };
  return { ...base, runner: createRunner(base), webhooks: createWebhooks(base), drains: createDrains(base) };
}

const SIDE_PX = 64;
const LOUDNESS = 8_000;

const NOTHING = {
  contentType: null,
  width: null,
  height: null,
  durationMs: null,
  fps: null,
  sizeBytes: 0,
  voice: null,
};

function media(contentType: string, bytes: Uint8Array, facts: Partial<RenderResult>) {
  return { ...NOTHING, contentType, ...facts, sizeBytes: bytes.length, bytes };
}

const size = { width: SIDE_PX, height: SIDE_PX };
export const PICTURE = media("image/png", greyPng(SIDE_PX), size);
export const FILM = media("video/mp4", greyMp4(1000, size, 5), { ...size, durationMs: 1000, fps: 5 });
export const SOUND = media("audio/wav", plainWav(1000, LOUDNESS), { durationMs: 1000 });
export const HEARD_FILM = media("video/mp4", Buffer.from(HEARD_MP4, "base64"), { ...size, durationMs: 1000, fps: 5 });

const MEDIA = { image: PICTURE, speech: SOUND, sound: SOUND, avatar: HEARD_FILM, video: FILM } as const;

function voice({ input }: RenderRequest): RenderResult {
  const label = typeof input["name"] === "string" ? input["name"] : "voice";
  return { ...NOTHING, voice: { base: "slt", pitchHz: null, loudnessDb: null, label } };
}

function createStubRenderer(): Renderer {
  return {
    async render(request) {
      const { kind, input } = request;
      if (kind === "voice") return voice(request);
      const isHeard = kind === "video" && input["generate_audio"] === true;
      const { bytes, ...measured } = isHeard ? HEARD_FILM : MEDIA[kind];
      const marked = withMark(bytes, measured.contentType, await markOf(request));
      await writeFile(request.outPath, marked);
      return { ...measured, sizeBytes: marked.length };
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Returns a hash that is the same for equal render requests. Media and voices are hashed by content, because their ids
 * and URLs differ between equal requests.
 */
async function markOf({ kind, index, input, media, voice: spoken }: RenderRequest): Promise<string> {
  const own = Object.entries(input).filter(([field]) => !Object.hasOwn(media, field) && field !== "voice_id");
  const hash = createHash("sha256").update(JSON.stringify([kind, index, withoutAddresses(own), spoken]));
  for (const [field, files] of Object.entries(media).sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(field);
    for (const { path } of files) hash.update(await readFile(path));
  }
  return hash.digest("hex");
}

function withoutAddresses(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => {
      const isReference = typeof item === "object" && item !== null && "source" in item;
      return isReference || (typeof item === "string" && /^https?:/.test(item)) ? null : item;
    }),
  );
}
