import { AsyncLocalStorage } from "node:async_hooks";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Agent } from "undici";
import { ForbiddenAddressError, hostOf, reachOf } from "./address-guard.ts";
import { CONNECT_MS, undici } from "./undici.ts";

/** A variable of the environment that should name a proxy, and does not. */
export class ProxyVariableError extends Error {}

type Env = Readonly<Record<string, string | undefined>>;

const VARIABLES = { "https:": ["https_proxy", "HTTPS_PROXY"], "http:": ["http_proxy", "HTTP_PROXY"] } as const;
const EXCEPTIONS = ["no_proxy", "NO_PROXY"] as const;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };
/** A network without names of the internet may answer late that it knows none. */
const OWN_LOOKUP_MS = 2_000;

export interface NamedProxy {
  /** That of the environment which names it. */
  readonly variable: string;
  /** With user and password where it has them: never to be shown. */
  readonly url: URL;
}

/** How requests to an address are sent: through a proxy, or straight, perhaps as an exception to one. */
export interface Route {
  readonly proxy: NamedProxy | null;
  /** The variable that excepts it: `NO_PROXY`. */
  readonly exceptedBy: string | null;
}

const STRAIGHT: Route = { proxy: null, exceptedBy: null };

/**
 * The route that the environment names, which every tool reads alike. This machine is never asked through a proxy.
 * @throws ProxyVariableError
 */
export function routeOf(target: URL, env: Env = process.env): Route {
  const proxy = namedProxy(target.protocol, env);
  const host = hostOf(target).replace(/\.$/, "").toLowerCase();
  if (proxy === null || isThisMachine(host)) return STRAIGHT;
  const exceptions = noProxy(env);
  const port = target.port || DEFAULT_PORTS[target.protocol]!;
  return exceptions?.value.split(/[,\s]+/).some((entry) => excepts(entry.toLowerCase(), host, port))
    ? { proxy: null, exceptedBy: exceptions.variable }
    : { proxy, exceptedBy: null };
}

/** The proxy for a protocol; null without one. @throws ProxyVariableError */
export function namedProxy(protocol: string, env: Env = process.env): NamedProxy | null {
  const set = setVariable(VARIABLES[protocol as keyof typeof VARIABLES] ?? [], env);
  if (set === null) return null;
  const { variable, value } = set;
  const text = value.includes("://") ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return { variable, url };
  throw new ProxyVariableError(`${variable} names no HTTP proxy: write it as http://proxy.example.com:3128`);
}

/** The variables that except addresses from proxies. */
export function noProxy(env: Env): { readonly variable: string; readonly value: string } | null {
  return setVariable(EXCEPTIONS, env);
}

function setVariable(names: readonly string[], env: Env): { readonly variable: string; readonly value: string } | null {
  const variable = names.find((name) => env[name]?.trim());
  return variable === undefined ? null : { variable, value: env[variable]!.trim() };
}

function isThisMachine(host: string): boolean {
  return /(^|\.)localhost$/.test(host) || (isIP(host) !== 0 && reachOf(host) === "loopback");
}

/** `host`, `.suffix`, `*.suffix`, an address or a range of addresses, each with a port or without; `*` is everything. */
function excepts(entry: string, host: string, port: string): boolean {
  const isBareIpv6 = isIP(entry.replace(/\/\d+$/, "")) === 6;
  const [, name = "", ownPort = port] = isBareIpv6 ? ["", entry] : (/^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []);
  if (name === "" || ownPort !== port) return false;
  if (name === "*") return true;
  if (isIP(host) !== 0) return isWithin(host, name);
  const suffix = name.replace(/^\*?\./, "").replace(/\.$/, "");
  return host.endsWith(`.${suffix}`) || (host === suffix && !name.startsWith("*"));
}

function isWithin(address: string, range: string): boolean {
  const [network = "", bits] = range.split("/");
  const family = isIP(network);
  const most = family === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (family === 0 || !(length >= 0 && length <= most)) return false;
  const list = new BlockList();
  list.addSubnet(network, length, family === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

/** Connections by the routes of the environment. A proxy resolves names by itself; `connect` is for straight ones. */
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

/**
 * Refuses a name that leads where it must not before a proxy resolves it, as far as this machine can resolve it too. A
 * straight connection is judged when it is made.
 * @throws ForbiddenAddressError
 */
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

/**
 * What `work` asks by Node's own `fetch` goes by the routes of the environment, which that reads only with
 * `NODE_USE_ENV_PROXY`. What else the program fetches goes as before, and a dispatcher that it has set is kept.
 */
export function withRoutes<T>(work: () => T): T {
  if (Object.values(VARIABLES).every((names) => setVariable(names, process.env) === null)) return work();
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

/** Agents for Node's own requests to an address whose route is a proxy; null for a straight one, and where Node knows of no proxies. */
export function proxyAgents(
  target: URL,
  { keepAlive }: { readonly keepAlive: boolean },
): { readonly httpAgent: HttpAgent; readonly httpsAgent: HttpsAgent } | null {
  const { proxy } = routeOf(target);
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (proxy === null || major < 22 || (major === 22 && minor < 21) || (major === 24 && minor < 5)) return null;
  const options = { keepAlive, proxyEnv: { HTTP_PROXY: proxy.url.href, HTTPS_PROXY: proxy.url.href } };
  return { httpAgent: new HttpAgent(options), httpsAgent: new HttpsAgent(options) };
}

/** For messages: without user and password. */
export function shownProxy({ variable, url }: NamedProxy): string {
  return `${url.host} (${variable})`;
}
