import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isRunId } from "../../core/kit/file-name.ts";
import { notFound } from "./refusal.ts";

interface Routed {
  readonly method: string;
  readonly path: string;
}

export function routeOf<R extends Routed>(routes: readonly R[], { method, path }: Routed) {
  for (const route of routes) {
    const params = route.method === (method === "HEAD" ? "GET" : method) ? matchPath(route.path, path) : null;
    if (params === null) continue;
    // Invalid ids are not looked up, because a store may not accept them.
    if (params.run !== undefined && !isRunId(params.run)) throw notFound("This run");
    return { route, params };
  }
  throw notFound("This address");
}

/** Decoded values may contain slashes. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const requested = pattern.split("/");
  const given = path.split("/");
  if (requested.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of requested.entries()) {
    const part = decoded(given[index]!);
    if (part === null) return null;
    if (segment.startsWith(":")) params[segment.slice(1)] = part;
    else if (segment !== part) return null;
  }
  return params;
}

export function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Compares digests of equal length in constant time. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(hash("sha256", given)), Buffer.from(hash("sha256", expected)));
}

export const STREAM_HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" };
/** Makes browsers reconnect one second after the connection ends. */
export const STREAM_START = "retry: 1000\n\n";
/** Sent on an idle stream, because proxies may close silent connections. */
export const STREAM_BEAT = ": beat\n\n";
export const STREAM_BEAT_MS = 15_000;

export function streamFrame(event: string, data: unknown, id?: number): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function headOf({ method = "GET", headers: given }: IncomingMessage): Pick<Request, "method" | "headers"> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  return { method, headers };
}
