import { hash, randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { hostname, networkInterfaces } from "node:os";
import { isSame, Refusal } from "../../served/index.ts";
import type { DashboardOptions } from "../options.ts";
import { htmlResponse, readForm, type VisitorView } from "./route.ts";

type Role = VisitorView["role"];

export type Session = ReturnType<typeof createSession>;

const LEAST_LENGTH = 16;
const roles: readonly Role[] = ["operator", "viewer"];

type Tokens = Readonly<Partial<Record<Role, string>>> & { readonly operator: string };

export function checkedTokens({ token, viewerToken }: Pick<DashboardOptions, "token" | "viewerToken">): Tokens {
  const operator = token ?? randomBytes(24).toString("base64url");
  for (const [option, secret] of Object.entries({ token: operator, viewerToken })) {
    if (secret !== undefined && secret.length < LEAST_LENGTH) {
      throw new TypeError(`${option} must have at least ${LEAST_LENGTH} characters.`);
    }
  }
  if (viewerToken === operator) throw new TypeError("viewerToken must differ from token.");
  return { operator, ...(viewerToken !== undefined && { viewer: viewerToken }) };
}

export function createSession(secrets: Tokens, port: number) {
  const name = `showrunner_${port}`;
  const cookieValue = (role: Role) => hash("sha256", `session ${role} ${secrets[role]}`);
  const known = roles.filter((role) => secrets[role] !== undefined);
  return {
    token: secrets.operator,
    roleOfToken: (text: string): Role | null => known.find((role) => isSame(text, secrets[role]!)) ?? null,
    roleOfCookies: (cookies: string | null): Role | null => {
      const given = cookieValues(cookies, name);
      return known.find((role) => given.some((value) => isSame(value, cookieValue(role)))) ?? null;
    },
    cookie: (role: Role) => `${name}=${cookieValue(role)}; Path=/; HttpOnly; SameSite=Strict`,
  };
}

function cookieValues(header: string | null, name: string): readonly string[] {
  return (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
}

/** Returns who sent the request or, if the request contains a token, a response that sets a cookie. */
export async function visitorOf(request: Request, url: URL, session: Session): Promise<VisitorView | Response> {
  const given = url.searchParams.get("token");
  if (given !== null && request.method === "GET" && !url.pathname.startsWith("/api/")) {
    return letIn(session, given, url.pathname);
  }
  if (request.method === "POST" && url.pathname === "/login") {
    return letIn(session, (await readForm(request)).get("token")?.trim() ?? "", "/");
  }
  const role = session.roleOfCookies(request.headers.get("Cookie"));
  if (role === null) throw locked();
  return { role };
}

const OPENING = '<!doctype html><html lang="en"><title>Showrunner</title><p>Opening the dashboard…</p></html>';

function letIn(session: Session, token: string, path: string): Response {
  const role = session.roleOfToken(token);
  if (role === null) throw locked();
  return htmlResponse(200, OPENING, { "Set-Cookie": session.cookie(role), Refresh: `0; url=${safePath(path)}` });
}

/** Makes the path begin with exactly one slash, because `//example.com` would lead to another server. */
function safePath(path: string): string {
  return `/${path.replace(/^[/\\]+/, "")}`;
}

function locked(): Refusal {
  return new Refusal(401, "LOCKED", "Open the address that `showrunner dashboard` printed; it contains the token.");
}

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly allowed?: readonly string[];
  /** The machine's own host names, if the server listens on all interfaces. */
  readonly own?: readonly string[];
}

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];
const EVERYWHERE = ["0.0.0.0", "[::]"];

const bracketed = (name: string) => (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name).toLowerCase();

/** Returns the `Host` headers that the server accepts. The first one is used in the printed address. */
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

/** Returns each name twice, without a port and with port 443, because TLS proxies send either form. */
export function proxiedHosts(allowed: readonly string[] = []): readonly string[] {
  return allowed.map(bracketed).flatMap((name) => [name, `${name}:443`]);
}

export function ownNames(): readonly string[] {
  const name = hostname();
  const addresses = Object.values(networkInterfaces()).flatMap((ones = []) => ones.map(({ address }) => address));
  return [name, `${name}.local`, ...addresses.filter((address) => !address.includes("%"))];
}

/** Refuses unknown hosts, and requests from other sites unless a person followed a link. @throws Refusal 403 */
export function checkSender(
  method: string,
  headers: IncomingHttpHeaders,
  { hosts, proxied }: { readonly hosts: readonly string[]; readonly proxied: readonly string[] },
): void {
  const host = headers.host?.toLowerCase() ?? "";
  if (!hosts.includes(host)) throw new Refusal(403, "HOST", "The dashboard does not accept this host name.");
  const { origin } = headers;
  const isSafe = method === "GET" || method === "HEAD";
  const isOwn = origin === `http://${host}` || (proxied.includes(host) && origin === `https://${host}`);
  const isForeign = origin === undefined ? !isSafe : !isOwn;
  if (isForeign || !isOwnSite(headers["sec-fetch-site"], headers["sec-fetch-mode"], isSafe)) {
    throw new Refusal(403, "ORIGIN", "Only the dashboard's own pages can send this request.");
  }
}

/**
 * Returns whether the `Sec-Fetch` headers allow a request. Other sites may link to this server, but may not load
 * anything from it.
 */
function isOwnSite(site: unknown, mode: unknown, isSafe: boolean): boolean {
  if (site === undefined || site === "same-origin") return true;
  if (site === "none") return isSafe;
  return isSafe && mode === "navigate";
}
