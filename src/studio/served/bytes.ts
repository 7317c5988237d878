import { Readable } from "node:stream";
import { type ByteRange, parseRange } from "../../core/kit/http.ts";
import type { Showrunner } from "../../index.ts";
import { mediaHeaders } from "./media-type.ts";
import { notFound } from "./refusal.ts";

type Asked = Pick<Request, "method" | "headers">;

interface Bytes {
  readonly sizeBytes: number;
  read(range: ByteRange): Promise<AsyncIterable<Uint8Array>>;
}

interface Answer {
  /** Default: 200, or 206 for a range of bytes. */
  readonly status?: number | undefined;
  /** An `ETag` is compared with `If-None-Match` and `If-Range`. */
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

/** Redirects if the store has its own URL for the file. */
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
