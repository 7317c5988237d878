import { randomBytes } from "node:crypto";
import { createCatalog } from "./catalog/catalog.ts";
import { loadCatalog } from "./catalog/load.ts";
import { type ClockControl, createClock } from "./clock/clock.ts";
import { openDataDir } from "./data-dir.ts";
import { createDrains } from "./drains/drains.ts";
import { FaultEngine, jobFaults } from "./faults/engine.ts";
import { createEventHub, createHooks, eventRecorder } from "./jobs/hooks.ts";
import { jobViews } from "./jobs/views.ts";
import { createPresigner } from "./media/presign.ts";
import { openAccounts } from "./operator/endpoints.ts";
import type { NormalOptions } from "./options.ts";
import { createOutbound, type Outbound } from "./outbound/outbound.ts";
import type { ProbeResult, Renderer } from "./render/contract.ts";
import { CLOCK_OFFSET } from "./runner/retention.ts";
import { createRunner } from "./runner/runner.ts";
import type { ServiceContext } from "./service-context.ts";
import { createMetrics } from "./service-parts.ts";
import { openStore, type Store } from "./store/store.ts";
import { createOpenStreams } from "./stream/open-streams.ts";
import { createStubRenderer } from "./stub.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";

/** The configured renderer. Uploads are always decoded for real; that code loads with the first upload. */
export async function openRenderer(options: NormalOptions) {
  const probe = async (path: string): Promise<ProbeResult> => (await import("./render/index.ts")).probe(path);
  return { renderer: await rendererOf(options), probe };
}

async function rendererOf({ renderer }: NormalOptions): Promise<Renderer> {
  if (renderer === "stub") return createStubRenderer();
  return renderer === "real" ? (await import("./render/index.ts")).createRenderer() : renderer;
}

/** The clock resumes where an earlier process left it, so that time never runs backwards for a data folder. */
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

/** A service that does not listen yet. */
export interface Opened {
  readonly service: ServiceContext;
  readonly apiKey: string;
  setOrigin(origin: string): void;
}

/** Composes the service. @throws LocalServiceError */
export async function openService(options: NormalOptions): Promise<Opened> {
  let origin = "http://127.0.0.1";
  const definitions = loadCatalog(options.catalog, options);
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
  // A hosted service has its own billing console; this name never resolves, by RFC 2606.
  const billing = `https://console.${options.brand.toLowerCase()}.example/billing`;
  const fundingPage = () => (options.strict ? billing : `${origin}/_local/fund`);
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
    catalog: createCatalog(definitions, options.families),
    ...(await openRenderer(options)),
    streams: createOpenStreams(),
    metrics: createMetrics(),
    record: eventRecorder(store, hooks, hub, clock.now),
    views: jobViews({ store, now: clock.now, sign: presigner.sign }),
    faultEngine,
    faults: jobFaults(faultEngine),
    origin: () => origin,
    fundingUrl: (workspaceId: string) => `${fundingPage()}?workspace_id=${encodeURIComponent(workspaceId)}`,
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
