import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "./refusal.ts";
import type { Session } from "./session.ts";

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
