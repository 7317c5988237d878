import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { isRunId } from "../../core/kit/file-name.ts";
import { type ByteRange, parseRange } from "../../core/kit/http.ts";
import type { Showrunner } from "../../index.ts";
import { cutShort, notFound } from "./for-callers.ts";

export interface Route<Call> {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Handles a request. A `Response` is sent unchanged, and any other result as JSON. */
  handle(call: Call): Promise<unknown>;
}

export function responseOf(result: unknown): Response {
  return result instanceof Response ? result : Response.json(result);
}

interface Address {
  readonly method: string;
  readonly path: string;
}

export function routeOf<Call>(routes: readonly Route<Call>[], { method, path }: Address) {
  for (const route of routes) {
    const params = route.method === (method === "HEAD" ? "GET" : method) ? matchPath(route.path, path) : null;
    if (params === null) continue;
    // Invalid ids are not looked up, because a store may not accept them.
    if (params.run !== undefined && !isRunId(params.run)) throw notFound("This run");
    return { route, params };
  }
  throw notFound("This address");
}

/** Matches a path against a pattern. Returns the decoded parameters, or null. A parameter may contain slashes. */
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

/** Converts a Node request to a `Request`. The connection stays open for the response even if the body is not read. */
export function requestOf(incoming: IncomingMessage, url: URL | string): Request {
  const { method = "GET" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers });
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A sender that disconnects is not a server error.
        const { done, value } = await pieces.next().catch(() => Promise.reject(cutShort()));
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void incoming.pause(),
    },
    { highWaterMark: 0 },
  );
  return new Request(url, { method, headers, body, ...{ duplex: "half" } });
}

type Asked = Pick<Request, "method" | "headers">;

interface Bytes {
  readonly sizeBytes: number;
  read(range: ByteRange): Promise<AsyncIterable<Uint8Array>>;
}

interface Answer {
  /** HTTP status. Default: 200, or 206 for a range of bytes. */
  readonly status?: number | undefined;
  /** Response headers. An `ETag` is compared with the request's `If-None-Match` and `If-Range`. */
  readonly headers: Readonly<Record<string, string>>;
}

export async function bytesResponse(
  { method, headers: asked }: Asked,
  { sizeBytes: size, read }: Bytes,
  { status = 200, headers }: Answer,
): Promise<Response> {
  const isKnown = (name: string) => headers.ETag !== undefined && asked.get(name)?.includes(headers.ETag) === true;
  if (isKnown("If-None-Match")) return new Response(null, { status: 304, headers });
  const isOther = asked.has("If-Range") && !isKnown("If-Range");
  const range = isOther ? "whole" : parseRange(asked.get("Range"), size);
  if (range === "beyond") return new Response(null, { status: 416, headers: { "Content-Range": `bytes */${size}` } });
  const { start, end } = range === "whole" ? { start: 0, end: size - 1 } : range;
  const all: Record<string, string> = {
    ...headers,
    "Accept-Ranges": "bytes",
    "Content-Length": String(end - start + 1),
    ...(range !== "whole" && { "Content-Range": `bytes ${start}-${end}/${size}` }),
  };
  const isWithout = method === "HEAD" || size === 0;
  const body = isWithout ? null : (Readable.toWeb(Readable.from(await read({ start, end }))) as ReadableStream);
  return new Response(body, { status: range === "whole" ? status : 206, headers: all });
}

/** Responds with a media file. Redirects if the store has its own URL for the file. */
export async function mediaResponse(
  asked: Asked,
  media: Pick<Showrunner["media"], "sizeOf" | "read" | "link">,
  { sha256, contentType: declared }: { readonly sha256: string; readonly contentType: string },
  headers: Answer["headers"],
): Promise<Response> {
  const { contentType, disposition } = mediaHeaders(declared);
  const link = await media.link(sha256, { contentType, disposition });
  if (link !== null)
    return new Response(null, { status: 302, headers: { Location: link, "Cache-Control": "no-store" } });
  const sizeBytes = await media.sizeOf(sha256);
  if (sizeBytes === null) throw notFound("This file");
  const shown = {
    "Content-Type": contentType,
    "Content-Disposition": disposition,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    ...headers,
  };
  return bytesResponse(asked, { sizeBytes, read: (range) => media.read(sha256, range) }, { headers: shown });
}

/** Media types that browsers may display. Other types could contain scripts, so browsers download them. */
const SHOWN: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
  "video/mp4",
  "video/webm",
  "video/quicktime",
  "audio/mpeg",
  "audio/wav",
  "audio/x-wav",
  "audio/wave",
  "audio/mp4",
  "audio/x-m4a",
  "audio/vnd.wave",
  "audio/webm",
  "audio/aac",
  "audio/ogg",
  "audio/flac",
]);

interface MediaHeaders {
  readonly contentType: string;
  readonly disposition: "inline" | "attachment";
}

export function mediaHeaders(declared: string | null): MediaHeaders {
  const type = essence(declared);
  if (SHOWN.has(type)) return { contentType: type, disposition: "inline" };
  return { contentType: "application/octet-stream", disposition: "attachment" };
}

export function kindOfType(declared: string | null): "image" | "video" | "audio" | "other" {
  const type = essence(declared);
  if (!SHOWN.has(type)) return "other";
  return type.slice(0, type.indexOf("/")) as "image" | "video" | "audio";
}

export function essence(declared: string | null): string {
  return (declared ?? "").split(";", 1)[0]!.trim().toLowerCase();
}
