import { Readable } from "node:stream";
import { type ByteRange, mediaHeaders, notFound, parseRange } from "../served/index.ts";
import { fileOfAddress } from "./addresses.ts";
import type { Context } from "./options.ts";

/** The bytes that a signed address leads to, or the range of them that is asked for. @throws Refusal 404 */
export async function sendMedia(
  context: Context,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const address = { runId: params.run!, name: params.name!, query: new URL(request.url).searchParams };
  const file = fileOfAddress(context, address, Date.now());
  // A run that was removed shows nothing any more, although its bytes may be another's too.
  if (file === null || (await context.show.journal.run(file.runId)) === null) throw notFound("This file");
  const { media } = context.show;
  const { sha256 } = file;
  const { contentType, disposition } = mediaHeaders(file.contentType);
  const link = await media.link(sha256, { contentType, disposition });
  if (link !== null)
    return new Response(null, { status: 302, headers: { Location: link, "Cache-Control": "no-store" } });
  const size = await media.sizeOf(sha256);
  if (size === null) throw notFound("This file");
  const headers: Record<string, string> = {
    "Content-Type": contentType,
    "Content-Disposition": disposition,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-site",
    "Cache-Control": "private, max-age=3600",
    "Accept-Ranges": "bytes",
    ETag: `"${sha256}"`,
  };
  const isKnown = (header: string) => request.headers.get(header)?.includes(headers.ETag!) === true;
  if (isKnown("If-None-Match")) return new Response(null, { status: 304, headers });
  const isOther = request.headers.has("If-Range") && !isKnown("If-Range");
  const range = isOther ? "whole" : parseRange(request.headers.get("Range"), size);
  if (range === "beyond") {
    return new Response(null, { status: 416, headers: { "Content-Range": `bytes */${size}` } });
  }
  const { start, end } = range === "whole" ? { start: 0, end: size - 1 } : range;
  headers["Content-Length"] = String(end - start + 1);
  if (range !== "whole") headers["Content-Range"] = `bytes ${start}-${end}/${size}`;
  const isWithout = request.method === "HEAD" || size === 0;
  const body = isWithout ? null : await bodyOf(context, sha256, { start, end });
  return new Response(body, { status: range === "whole" ? 200 : 206, headers });
}

async function bodyOf({ show }: Context, sha256: string, range: ByteRange): Promise<ReadableStream> {
  return Readable.toWeb(Readable.from(await show.media.read(sha256, range))) as ReadableStream;
}
