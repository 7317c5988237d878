import type { IncomingHttpHeaders } from "node:http";
import { hostname, networkInterfaces } from "node:os";
import { Refusal } from "./route.ts";

/** Where the dashboard listens, and as what browsers may call it. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  /** Further names and addresses. */
  readonly allowed?: readonly string[];
  /** This machine's own name and addresses, for a server that listens on all of them. */
  readonly own?: readonly string[];
}

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];
const EVERYWHERE = ["0.0.0.0", "[::]"];

const bracketed = (name: string) => (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name).toLowerCase();

/** Values of `Host` that mean this server, the one to print first: anything else is another site's name pointed at this machine. */
export function allowedHosts({ host, port, allowed = [], own: machine = [] }: ServerAddress): readonly string[] {
  const bare = bracketed(host);
  const bound = EVERYWHERE.includes(bare)
    ? [...LOOPBACK, ...machine]
    : LOOPBACK.includes(bare)
      ? [bare, ...LOOPBACK]
      : [bare];
  const withPort = (name: string) => (port === 80 ? [`${name}:80`, name] : [`${name}:${port}`]);
  const own = [...bound, ...allowed].map(bracketed).flatMap(withPort);
  return [...new Set([...own, ...proxiedHosts(allowed)])];
}

/** What browsers send as `Host` for these names behind a proxy that speaks TLS: no port, or that of https. */
export function proxiedHosts(allowed: readonly string[] = []): readonly string[] {
  return allowed.map(bracketed).flatMap((name) => [name, `${name}:443`]);
}

/** What this machine is called in its networks. */
export function ownNames(): readonly string[] {
  const name = hostname();
  const addresses = Object.values(networkInterfaces()).flatMap((ones = []) => ones.map(({ address }) => address));
  return [name, `${name}.local`, ...addresses.filter((address) => !address.includes("%"))];
}

/**
 * Accepts requests that a page of this server, or a person's own navigation, may send.
 * @throws Refusal 403 `HOST` for a foreign name, `ORIGIN` for another site's request
 */
export function checkSender(
  method: string,
  headers: IncomingHttpHeaders,
  { hosts, proxied }: { readonly hosts: readonly string[]; readonly proxied: readonly string[] },
): void {
  const host = headers.host?.toLowerCase() ?? "";
  if (!hosts.includes(host)) throw new Refusal(403, "HOST", "This address does not belong to the dashboard.");
  const { origin } = headers;
  const isSafe = method === "GET" || method === "HEAD";
  const isOwn = origin === `http://${host}` || (proxied.includes(host) && origin === `https://${host}`);
  const isForeign = origin === undefined ? !isSafe : !isOwn;
  if (isForeign || !isOwnSite(headers["sec-fetch-site"], headers["sec-fetch-mode"], isSafe)) {
    throw new Refusal(403, "ORIGIN", "Only the dashboard's own page may ask for this.");
  }
}

/** Browsers say where a request comes from; following a link from elsewhere is fine, loading parts is not. */
function isOwnSite(site: unknown, mode: unknown, isSafe: boolean): boolean {
  if (site === undefined || site === "same-origin") return true;
  if (site === "none") return isSafe;
  return isSafe && mode === "navigate";
}
