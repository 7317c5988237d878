import type { IncomingHttpHeaders } from "node:http";
import { Refusal } from "./refusal.ts";

/** Where the dashboard listens, as browsers may write it. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/** Values of `Host` that mean this server, the one to print first: anything else is another site's name pointed at this machine. */
export function allowedHosts({ host, port }: Place): readonly string[] {
  const bare = host.includes(":") ? `[${host}]` : host;
  const names = LOOPBACK.includes(bare) ? [bare, ...LOOPBACK.filter((name) => name !== bare)] : [bare];
  return names.flatMap((name) => (port === 80 ? [`${name}:80`, name] : [`${name}:${port}`]));
}

/**
 * Lets through what a page of this server, or a person's own navigation, may send.
 * @throws Refusal 403 `HOST` for a foreign name, `ORIGIN` for another site's request
 */
export function checkSender(method: string, headers: IncomingHttpHeaders, hosts: readonly string[]): void {
  const host = headers.host?.toLowerCase() ?? "";
  if (!hosts.includes(host)) throw new Refusal(403, "HOST", "This address does not belong to the dashboard.");
  const { origin } = headers;
  const own = `http://${host}`;
  const isSafe = method === "GET" || method === "HEAD";
  const isForeign = origin === undefined ? !isSafe : origin !== own;
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
