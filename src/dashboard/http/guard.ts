import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
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
export function allowedHosts({ host, port, allowed = [], own = [] }: ServerAddress): readonly string[] {
  const bare = bracketed(host);
  const bound = EVERYWHERE.includes(bare)
    ? [...LOOPBACK, ...own]
    : LOOPBACK.includes(bare)
      ? [bare, ...LOOPBACK]
      : [bare];
  const names = [...new Set([...bound, ...allowed].map(bracketed))];
  return names.flatMap((name) => (port === 80 ? [`${name}:80`, name] : [`${name}:${port}`]));
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

/** Who opened the printed address once may come back without it. */
export interface Session {
  readonly token: string;
  /** True when this is the token of the opened address. */
  isToken(text: string): boolean;
  /** True when this `Cookie` header proves that the address was opened. */
  isKnown(cookies: string | undefined): boolean;
  /** `Set-Cookie` for one who showed the token. */
  cookie(): string;
}

const LEAST_LENGTH = 16;

/** The cookie holds a digest, so that it cannot be turned back into the address; cookies ignore ports, hence its name. */
export function createSession(token: string | undefined, port: number): Session {
  const secret = token ?? randomBytes(24).toString("base64url");
  if (secret.length < LEAST_LENGTH) throw new TypeError(`token: give at least ${LEAST_LENGTH} characters.`);
  const name = `showrunner_${port}`;
  const value = hash("sha256", `session ${secret}`);
  return {
    token: secret,
    isToken: (text) => isSame(text, secret),
    isKnown: (cookies) => cookieValues(cookies, name).some((given) => isSame(given, value)),
    cookie: () => `${name}=${value}; Path=/; HttpOnly; SameSite=Strict`,
  };
}

/** Takes as long for a wrong guess as for a right one: digests of equal length are compared. */
function isSame(given: string, requested: string): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", given)), Buffer.from(hash("sha256", requested)));
}

function cookieValues(header: string | undefined, name: string): readonly string[] {
  return (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}

/**
 * Lets in who opened the printed address: the token becomes a cookie and leaves the address bar. True: answered here.
 * The second step is a refresh rather than a redirect, because a strict cookie is not sent along one that began elsewhere.
 * @throws Refusal 401
 */
export function login(incoming: IncomingMessage, response: ServerResponse, url: URL, session: Session): boolean {
  const given = url.searchParams.get("token");
  if (given !== null && incoming.method === "GET" && !url.pathname.startsWith("/api/")) {
    if (!session.isToken(given)) throw locked();
    response.setHeader("Set-Cookie", session.cookie());
    response.writeHead(200, {
      "Content-Type": "text/html; charset=utf-8",
      Refresh: `0; url=${safePath(url.pathname)}`,
    });
    response.end('<!doctype html><html lang="en"><title>Showrunner</title><p>Opening the dashboard…</p></html>');
    return true;
  }
  if (!session.isKnown(incoming.headers.cookie)) throw locked();
  return false;
}

/** A path of this server, never another site's (`//elsewhere`). */
function safePath(path: string): string {
  return `/${path.replace(/^[/\\]+/, "")}`;
}

function locked(): Refusal {
  return new Refusal(401, "LOCKED", "Open the address that `showrunner dashboard` printed; it holds the token.");
}
