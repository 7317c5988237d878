import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { VisitorView } from "../views/action-wire.ts";
import { Refusal, readForm } from "./route.ts";

type Role = VisitorView["role"];

/** Tokens of the addresses that open the dashboard; a digest of them goes into cookies. */
export interface Session {
  readonly token: string;
  /** Who shows this token is let in as; null for a wrong one. */
  roleOfToken(text: string): Role | null;
  /** Who sends this `Cookie` header was let in as; null for who was not. */
  roleOfCookies(cookies: string | undefined): Role | null;
  /** `Set-Cookie` for one who showed a token. */
  cookie(role: Role): string;
}

/** A reverse proxy that asks people who they are, and says so in a header. */
export interface UserHeader {
  /** Lower case. */
  readonly name: string;
  /** Addresses of the proxy; from any other the header counts for nothing. */
  readonly from: readonly string[];
  /** Who may act; everybody else that the proxy lets through sees only. */
  readonly operators: readonly string[];
}

const LEAST_LENGTH = 16;
const roles: readonly Role[] = ["operator", "viewer"];

/** The cookie holds a digest, so that it cannot be turned back into the address; cookies ignore ports, hence its name. */
export function createSession(token: string | undefined, port: number, viewerToken?: string | undefined): Session {
  const secrets: Partial<Record<Role, string>> = { operator: token ?? randomBytes(24).toString("base64url") };
  if (viewerToken !== undefined) secrets.viewer = viewerToken;
  for (const [role, secret] of Object.entries(secrets)) {
    const option = role === "viewer" ? "viewerToken" : "token";
    if (secret.length < LEAST_LENGTH) throw new TypeError(`${option}: give at least ${LEAST_LENGTH} characters.`);
  }
  if (secrets.viewer === secrets.operator) throw new TypeError("viewerToken: give another one than token.");
  const name = `showrunner_${port}`;
  const cookieValue = (role: Role) => hash("sha256", `session ${role} ${secrets[role]}`);
  const known = roles.filter((role) => secrets[role] !== undefined);
  return {
    token: secrets.operator!,
    roleOfToken: (text) => known.find((role) => isSame(text, secrets[role]!)) ?? null,
    roleOfCookies: (cookies) => {
      const given = cookieValues(cookies, name);
      return known.find((role) => given.some((value) => isSame(value, cookieValue(role)))) ?? null;
    },
    cookie: (role) => `${name}=${cookieValue(role)}; Path=/; HttpOnly; SameSite=Strict`,
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
 * Who asks. Null: answered here, with a cookie for who showed a token, in the address or in the form of the locked page.
 * Then comes a refresh rather than a redirect, because a strict cookie is not sent along one that began elsewhere.
 * @throws Refusal 401
 */
export async function visitorOf(
  {
    incoming,
    response,
    url,
  }: { readonly incoming: IncomingMessage; readonly response: ServerResponse; readonly url: URL },
  session: Session,
  userHeader: UserHeader | null,
): Promise<VisitorView | null> {
  const given = url.searchParams.get("token");
  if (given !== null && incoming.method === "GET" && !url.pathname.startsWith("/api/")) {
    return letIn(response, session, given, url.pathname);
  }
  if (incoming.method === "POST" && url.pathname === "/login") {
    return letIn(response, session, (await readForm(incoming)).get("token")?.trim() ?? "", "/");
  }
  const user = userHeader === null ? null : userOf(incoming, userHeader);
  if (user !== null) return { role: userHeader!.operators.includes(user) ? "operator" : "viewer", user };
  const role = session.roleOfCookies(incoming.headers.cookie);
  if (role === null) throw locked();
  return { role, user: null };
}

function letIn(response: ServerResponse, session: Session, token: string, path: string): null {
  const role = session.roleOfToken(token);
  if (role === null) throw locked();
  response.setHeader("Set-Cookie", session.cookie(role));
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", Refresh: `0; url=${safePath(path)}` });
  response.end('<!doctype html><html lang="en"><title>Showrunner</title><p>Opening the dashboard…</p></html>');
  return null;
}

const MOST_USER = 200;

function userOf(incoming: IncomingMessage, { name, from }: UserHeader): string | null {
  const address = (incoming.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const value = incoming.headers[name];
  if (!from.includes(address) || typeof value !== "string" || value === "" || value.length > MOST_USER) return null;
  return value;
}

/** A path of this server, never another site's (`//elsewhere`). */
function safePath(path: string): string {
  return `/${path.replace(/^[/\\]+/, "")}`;
}

function locked(): Refusal {
  return new Refusal(401, "LOCKED", "Open the address that `showrunner dashboard` printed; it holds the token.");
}
