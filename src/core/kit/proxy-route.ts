import { BlockList, isIP } from "node:net";

export class ProxyVariableError extends Error {}

type Env = Readonly<Record<string, string | undefined>>;

const VARIABLES = { "https:": ["https_proxy", "HTTPS_PROXY"], "http:": ["http_proxy", "HTTP_PROXY"] } as const;
const EXCEPTIONS = ["no_proxy", "NO_PROXY"] as const;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "https:": "443", "http:": "80" };

export interface NamedProxy {
  readonly variable: string;
  /** The proxy's URL. It may contain a password, so it must never be shown. */
  readonly url: URL;
}

export interface Route {
  readonly proxy: NamedProxy | null;
  /** The variable that exempts the address from the proxy, such as `NO_PROXY`; null if none does. */
  readonly exceptedBy: string | null;
}

const STRAIGHT: Route = { proxy: null, exceptedBy: null };

/**
 * Returns how to reach a target: through the proxy that the environment variables name, or directly. Addresses of this
 * machine are always reached directly.
 */
export function routeOf(target: URL, env: Env = process.env): Route {
  const proxy = namedProxy(target.protocol, env);
  const host = target.hostname.replace(/^\[|\]$|\.$/g, "");
  if (proxy === null || isThisMachine(host)) return STRAIGHT;
  const exceptions = noProxy(env);
  const port = target.port || DEFAULT_PORTS[target.protocol]!;
  return exceptions?.value.split(/[,\s]+/).some((entry) => excepts(entry.toLowerCase(), host, port))
    ? { proxy: null, exceptedBy: exceptions.variable }
    : { proxy, exceptedBy: null };
}

export function namedProxy(protocol: string, env: Env = process.env): NamedProxy | null {
  const set = setVariable(VARIABLES[protocol as keyof typeof VARIABLES] ?? [], env);
  if (set === null) return null;
  const { variable, value } = set;
  const text = value.includes("://") ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return { variable, url };
  throw new ProxyVariableError(`${variable} is not an HTTP proxy URL; use a URL such as http://proxy.example.com:3128`);
}

export function noProxy(env: Env): { readonly variable: string; readonly value: string } | null {
  return setVariable(EXCEPTIONS, env);
}

function setVariable(names: readonly string[], env: Env): { readonly variable: string; readonly value: string } | null {
  const variable = names.find((name) => env[name]?.trim());
  return variable === undefined ? null : { variable, value: env[variable]!.trim() };
}

function isThisMachine(host: string): boolean {
  return /(^|\.)localhost$/.test(host) || ["127.0.0.0/8", "::1"].some((range) => isWithin(host, range));
}

/**
 * Returns whether an entry of `NO_PROXY` matches the host and port. An entry can be `*`, a host, `.suffix` or an
 * address range.
 */
function excepts(entry: string, host: string, port: string): boolean {
  const isBareIpv6 = isIP(entry.replace(/\/\d+$/, "")) === 6;
  const [, name = "", ownPort = port] = isBareIpv6 ? ["", entry] : (/^\[?(.*?)\]?(?::(\d+))?$/.exec(entry) ?? []);
  if (name === "" || ownPort !== port) return false;
  if (name === "*") return true;
  if (isIP(host) !== 0) return isWithin(host, name);
  const suffix = name.replace(/^\*?\./, "").replace(/\.$/, "");
  return host.endsWith(`.${suffix}`) || (host === suffix && !name.startsWith("*"));
}

function isWithin(host: string, range: string): boolean {
  const [network = "", bits] = range.split("/");
  const family = isIP(network);
  const most = family === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (isIP(host) === 0 || family === 0 || !(length >= 0 && length <= most)) return false;
  const list = new BlockList();
  list.addSubnet(network, length, family === 4 ? "ipv4" : "ipv6");
  return list.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
}

export function isProxyNamed(env: Env = process.env): boolean {
  return Object.values(VARIABLES).some((names) => setVariable(names, env) !== null);
}

/**
 * Returns the `proxyEnv` option for Node's agents. Null for a direct route, or if this version of Node ignores proxies.
 */
export function proxyForNode(target: URL): { readonly HTTP_PROXY: string; readonly HTTPS_PROXY: string } | null {
  const { proxy } = routeOf(target);
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isKnown = (major === 22 && minor >= 21) || (major === 24 && minor >= 5) || major > 24;
  return proxy === null || !isKnown ? null : { HTTP_PROXY: proxy.url.href, HTTPS_PROXY: proxy.url.href };
}

export function shownProxy({ variable, url }: NamedProxy): string {
  return `${url.host} (${variable})`;
}
