import { AsyncLocalStorage } from "node:async_hooks";
import type { Agent as HttpAgent } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Agent } from "undici";
import { isProxyNamed, proxyForNode, routeOf } from "../kit/proxy-route.ts";
import { ForbiddenAddressError, hostOf } from "./address-guard.ts";
import { CONNECT_MS, undici } from "./undici.ts";

/** Lookups may be slow on a network without public DNS. */
const OWN_LOOKUP_MS = 2_000;

/** Creates an agent that uses the environment's proxies. `connect` applies only to direct connections. */
export function createAgent(options: Agent.Options): Agent {
  const { Agent, Pool, ProxyAgent } = undici();
  return new Agent({
    ...options,
    factory: (origin, { connect, ...given }: Agent.Options) => {
      const { proxy } = routeOf(new URL(origin));
      if (proxy === null) return new Pool(origin, { ...given, ...(connect && { connect }) });
      return new ProxyAgent({ ...given, uri: proxy.url.href, connectTimeout: CONNECT_MS });
    },
  });
}

/** Checks a host before a proxy resolves it, if this machine can resolve it too. @throws ForbiddenAddressError */
export async function judgeBeforeProxy(target: URL, lookup: LookupFunction): Promise<void> {
  const host = hostOf(target);
  if (isIP(host) !== 0 || routeOf(target).proxy === null) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, OWN_LOOKUP_MS);
  lookup(host, { all: true }, (error) => (error instanceof ForbiddenAddressError ? reject(error) : resolve()));
  await promise.finally(() => clearTimeout(timer));
}

const ours = new AsyncLocalStorage<Agent>();
let shared: Agent | undefined;

/** Makes Node's global `fetch` use the environment's proxies while `work` runs. */
export function withRoutes<T>(work: () => T): T {
  if (!isProxyNamed()) return work();
  if (shared === undefined) {
    const { getGlobalDispatcher, setGlobalDispatcher } = undici();
    shared = createAgent({ connect: { timeout: CONNECT_MS }, allowH2: false, headersTimeout: 0, bodyTimeout: 0 });
    const isDefault = [1, 2].every((version) => {
      const set = (globalThis as Record<symbol, unknown>)[Symbol.for(`undici.globalDispatcher.${version}`)];
      return set === undefined || /^(Agent|Dispatcher1Wrapper)$/.test((set as object).constructor.name);
    });
    const routed = getGlobalDispatcher().compose((dispatch) => (options, handler) => {
      const agent = ours.getStore();
      return agent === undefined ? dispatch(options, handler) : agent.dispatch(options, handler);
    });
    if (isDefault) setGlobalDispatcher(routed);
  }
  return ours.run(shared, work);
}

export function proxyAgents(target: URL): { readonly httpAgent?: HttpAgent; readonly httpsAgent?: HttpsAgent } {
  const proxyEnv = proxyForNode(target);
  if (proxyEnv === null) return {};
  const options = { keepAlive: true, proxyEnv };
  // Do not import node:http, which takes 40 ms because it loads everything that the module exports.
  const [http, https] = [process.getBuiltinModule("node:http"), process.getBuiltinModule("node:https")];
  return { httpAgent: new http.Agent(options), httpsAgent: new https.Agent(options) };
}
